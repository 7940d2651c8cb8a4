"""The tools of AgentDojo and the calls that its tasks want, as JSON: run in a Python that has agentdojo."""

from __future__ import annotations

import json
import sys


def main() -> None:
    from agentdojo.task_suite.load_suites import get_suites  # type: ignore[import-not-found]  # in another environment

    found = {}
    for name, suite in get_suites(sys.argv[1]).items():
        calls = []
        for task in suite.user_tasks.values():
            environment = task.init_environment(suite.load_and_inject_default_environment({}))
            calls += [[call.function, [*call.args]] for call in task.ground_truth(environment)]
        tools = {tool.name: [*tool.parameters.model_fields] for tool in suite.tools}
        found[name] = {"tasks": len(suite.user_tasks), "tools": tools, "calls": calls}
    print("\nGOLD " + json.dumps(found))


if __name__ == "__main__":
    main()
