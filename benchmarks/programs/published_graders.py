"""Graders of others as functions that `carob audit --grader` takes.

They are loaded in the Python that has their packages, next to Carob, and import nothing of this folder but what plays
tau-bench's tools.
"""

from __future__ import annotations

import os
import pickle
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import carob

ROOT = Path(__file__).parents[2]
TAU_CLONE = "CAROB_TAU_BENCH"
DOJO_VERSION = "CAROB_AGENTDOJO"


@lru_cache(maxsize=4)
def _dojo_task(suite_name: str, task_name: str, version: str) -> tuple[Any, Any, Any, bytes]:
    """The suite, the task, its environment before anything was done, and the same to start from."""
    from agentdojo.task_suite.load_suites import get_suite  # type: ignore[import-not-found]  # in another environment

    suite = get_suite(version, suite_name)
    task = suite.get_user_task_by_id(task_name)
    environment = task.init_environment(suite.load_and_inject_default_environment({}))
    return suite, task, environment, pickle.dumps(environment)


def agentdojo_utility(trace: carob.Trace) -> bool:
    """AgentDojo's own function for the task: the calls are made again in its environment."""
    from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime  # type: ignore[import-not-found]

    version = os.environ.get(DOJO_VERSION, "v1.2.2")
    suite, task, before, stored = _dojo_task(trace.metadata["suite"], trace.metadata["task"], version)
    environment = pickle.loads(stored)
    runtime = FunctionsRuntime(suite.tools)
    calls = []
    for call in trace.tool_calls:
        arguments = call.arguments if isinstance(call.arguments, dict) else {}
        calls.append(FunctionCall(function=call.name, args=arguments))
        runtime.run_function(environment, call.name, arguments)
    state = (trace.final_message, before, environment)
    utility = task.utility_from_traces(*state, calls)
    return bool(task.utility(*state) if utility is None else utility)


@lru_cache
def _tau_database(domain: str) -> Any:
    from benchmarks.published.database import Database

    return Database(Path(os.environ[TAU_CLONE]), domain)


def tau_bench_reward(trace: carob.Trace) -> bool:
    """tau-bench's reward: the database is as after the actions of the task, and the agent said the outputs."""
    if str(ROOT) not in sys.path:
        sys.path.append(str(ROOT))
    from benchmarks.published.conversations import Call

    database = _tau_database(trace.metadata["domain"])
    made = [Call(call.name, _named(call.arguments)) for turn in trace.turns or (trace,) for call in turn.tool_calls]
    gold = [Call(action["name"], action["arguments"]) for action in trace.metadata["actions"]]
    answers = [turn.final_message.lower().replace(",", "") for turn in trace.turns or (trace,)]
    said = all(any(str(output).lower() in answer for answer in answers) for output in trace.metadata["outputs"])
    return said and database.play(made).state == database.play(gold).state


def _named(arguments: object) -> dict[str, Any]:
    return arguments if isinstance(arguments, dict) else {}


def deepeval_tools() -> Any:
    """The calls are the recorded ones."""
    from deepeval.metrics import ToolCorrectnessMetric  # type: ignore[import-not-found]
    from deepeval.models import DeepEvalBaseLLM  # type: ignore[import-not-found]

    class NoModel(DeepEvalBaseLLM):  # type: ignore[misc]  # the metric wants one, and asks it nothing
        def load_model(self) -> None: ...

        def generate(self, *given: Any) -> str:
            raise AssertionError("no model is asked")

        async def a_generate(self, *given: Any) -> str:
            raise AssertionError("no model is asked")

        def get_model_name(self) -> str:
            return "none"

    return ToolCorrectnessMetric(threshold=1, model=NoModel(), async_mode=False)


def pydantic_trajectory() -> Any:
    """The recorded tools in their order."""
    from pydantic_evals.evaluators import HasMatchingSpan  # type: ignore[import-not-found]

    return HasMatchingSpan(query={"name_equals": "running tool"})


def agentevals_superset(**given: Any) -> Any:
    """The recorded calls are among those that were made."""
    from agentevals.trajectory.match import create_trajectory_match_evaluator  # type: ignore[import-not-found]

    return create_trajectory_match_evaluator(trajectory_match_mode="superset")(**given)
