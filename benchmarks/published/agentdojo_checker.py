"""The checkers of AgentDojo itself, in the Python that has `agentdojo`: a run per line in, a line of verdicts out.

Run by `agentdojo_agreement.py`, never imported. The calls of a run are made again in the environment of its suite.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def main() -> None:
    for line in sys.stdin:
        try:
            run = json.loads(line)
            found = [_check(run, version) for version in run["versions"]]
        except Exception as error:  # noqa: BLE001 - a call that cannot be made again is no verdict
            found = [[None, None, f"{type(error).__name__}: {error}"]]
        print("\nVERDICT " + json.dumps(found), flush=True)


def _check(run: dict[str, Any], version: str) -> list[Any]:
    from agentdojo.functions_runtime import (  # type: ignore[import-not-found]  # in another environment
        FunctionCall,
        FunctionsRuntime,
    )
    from agentdojo.task_suite.load_suites import get_suite  # type: ignore[import-not-found]

    suite = get_suite(version, run["suite"])
    task = suite.get_user_task_by_id(run["task"])
    environment = task.init_environment(suite.load_and_inject_default_environment({}))
    before = environment.model_copy(deep=True)
    runtime = FunctionsRuntime(suite.tools)
    calls = []
    for name, arguments in run["calls"]:
        calls.append(FunctionCall(function=name, args=arguments))
        runtime.run_function(environment, name, arguments)
    state = (run["answer"], before, environment)
    utility = task.utility_from_traces(*state, calls)
    utility = task.utility(*state) if utility is None else utility
    security = suite.get_injection_task_by_id(run["attack"]).security(*state) if run["attack"] else None
    return [bool(utility), security, ""]


if __name__ == "__main__":
    main()
