"""Carob as a library: what the README promises, with every kind of target, in and out of an event loop."""

from __future__ import annotations

import ast
import asyncio
import functools
import gc
import inspect
import json
import threading
from pathlib import Path
from typing import Any

import pytest

import carob
from carob import Journal, Suite
from carob.golden import ExecutionContext

SUITE = {
    "version": "0.3",
    "cases": [
        {"id": "A", "prompt": "say hello", "expected": {"must_say_any": ["hello"]}},
        {"id": "B", "prompt": "wave", "expected": {"tool_calls_any": ["wave"]}},
    ],
}


def sync_agent(prompt: str) -> dict[str, Any]:
    return {"final_message": f"hello: {prompt}", "tools_called": ["wave"]}


async def async_agent(prompt: str) -> dict[str, Any]:
    await asyncio.sleep(0)
    return sync_agent(prompt)


async def agent_of_traces(prompt: str, case: carob.Case) -> carob.Trace:
    return carob.Trace(case_id=case.id, final_message="hello", tool_calls=(carob.ToolCall("wave", success=True),))


class Callable:
    def __call__(self, prompt: str) -> dict[str, Any]:
        return sync_agent(prompt)


def mute(prompt: str) -> str:
    return "Mm."


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "suite.json").write_text(json.dumps(SUITE))
    (tmp_path / "traces.jsonl").write_text(
        '{"case_id": "A", "final_message": "hello"}\n{"case_id": "B", "final_message": "y", "tools_called": ["wave"]}\n'
    )


@pytest.fixture
def suite() -> Suite:
    return carob.load_suite("suite.json")


def statuses(result: carob.RunResult) -> dict[str, str]:
    return {record.case.id: record.status.value for record in result.records}


def test_load_suite(suite: Suite) -> None:
    assert (suite.file, suite.format, suite.version) == ("suite.json", "eval-set", "0.3")
    assert [case.id for case in suite.cases] == ["A", "B"]
    assert carob.load_suite(Path("suite.json")).sha256 == suite.sha256


def test_a_suite_with_problems_raises_them_all() -> None:
    Path("bad.json").write_text('{"version": "0.3", "cases": [{"id": 7, "prompt": "", "expected": {"x": 1}}]}')
    with pytest.raises(carob.SuiteError) as caught:
        carob.load_suite("bad.json")
    assert len(caught.value.problems) == 3
    assert str(caught.value).count("\n") == 2
    assert isinstance(caught.value, carob.CarobError)
    assert caught.value.exit_code == 4
    with pytest.raises(carob.SuiteError):
        carob.run("bad.json", mute)


def test_a_missing_suite_is_an_error_of_ours() -> None:
    with pytest.raises(carob.CarobError, match="no such file"):
        carob.load_suite("gone.json")


def test_judge(suite: Suite) -> None:
    case = suite.cases[0]
    good = carob.judge(case, carob.Trace(case_id="A", final_message="Hello!"))
    bad = carob.judge(case, carob.Trace(case_id="A", final_message="Bye."))
    assert (good.status, bad.status) == (carob.CaseStatus.PASS, carob.CaseStatus.FAIL)
    (failed,) = [check for check in bad.checks if check.status is carob.Status.FAILED]
    assert (failed.name, failed.group, failed.found) == ("must_say_any", carob.Group.FORMATTING, "Bye.")


@pytest.mark.parametrize(
    "target",
    [
        pytest.param(sync_agent, id="function"),
        pytest.param(async_agent, id="async-function"),
        pytest.param(agent_of_traces, id="traces"),
        pytest.param(lambda prompt: sync_agent(prompt), id="lambda"),
        pytest.param(functools.partial(sync_agent), id="partial"),
        pytest.param(Callable(), id="object"),
        pytest.param("replay:traces.jsonl", id="spec"),
    ],
)
def test_run(suite: Suite, target: Any) -> None:
    result = carob.run(suite, target)
    assert statuses(result) == {"A": "PASS", "B": "PASS"}
    assert result.ok
    assert (result.summary.passed, result.summary.total) == (2, 2)
    assert [path.suffix for path in result.artifacts] == [".jsonl", ".json", ".md"]
    assert all(path.exists() for path in result.artifacts)


def test_a_failing_run_is_not_ok(suite: Suite) -> None:
    result = carob.run(suite, mute)
    assert statuses(result) == {"A": "FAIL", "B": "PARTIAL"}
    assert not result.ok


def test_a_spec_of_a_python_function(suite: Suite) -> None:
    Path("agent_at_hand.py").write_text("def ask(prompt):\n    return 'hello'\n")
    assert statuses(carob.run(suite, "python:agent_at_hand:ask")) == {"A": "PASS", "B": "PARTIAL"}


def test_a_target_of_carob_toml(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "hush-hush-1")
    Path("leaky.py").write_text("def ask(prompt):\n    return 'hello hush-hush-1'\n")
    Path("carob.toml").write_text('secrets = ["TOKEN"]\n[targets.mine]\nuse = "python:leaky.py:ask"\n')
    result = carob.run(suite, "mine")
    assert result.records[0].trace.final_message == "hello [removed]"
    with pytest.raises(carob.CarobError, match="Did you mean 'mine'"):
        carob.run(suite, "mien")


def test_a_target_that_cannot_be_opened_leaves_nothing(suite: Suite) -> None:
    with pytest.raises(carob.CarobError, match="cannot be read"):
        carob.run(suite, "replay:gone.jsonl", results_dir="out")
    assert not Path("out").exists()


@pytest.mark.parametrize("folder", ["out/deep", Path("out/deep")], ids=["str", "path"])
def test_results_dir(suite: Suite, folder: str | Path) -> None:
    result = carob.run(suite, sync_agent, results_dir=folder)
    assert {path.parent for path in result.artifacts} == {Path("out/deep")}
    again = carob.rescore(result.artifacts[0], results_dir=folder)
    assert statuses(again) == {"A": "PASS", "B": "PASS"}
    assert len(list(Path("out/deep").iterdir())) == 6


def test_without_a_folder_the_files_go_with_the_result(suite: Suite) -> None:
    result = carob.run(suite, sync_agent)
    rescored = carob.rescore(result.journal.path)
    folders = [Path(found.journal.path).parent for found in (result, rescored)]
    assert all(folder.exists() for folder in folders)
    del result, rescored
    gc.collect()
    assert not any(folder.exists() for folder in folders)
    assert sorted(path.name for path in Path().iterdir()) == ["suite.json", "traces.jsonl"]


def test_options_are_those_of_run_options(suite: Suite) -> None:
    result = carob.run(suite, sync_agent, repeat=2, concurrency=2, timeout=5.0)
    assert (result.summary.repeat, len(result.records)) == (2, 4)


def test_retries(suite: Suite) -> None:
    calls: list[str] = []

    def moody(prompt: str) -> dict[str, Any]:
        calls.append(prompt)
        if len(calls) == 1:
            raise ConnectionError("try again")
        return sync_agent(prompt)

    first = carob.run(suite, moody, retries=1, backoff=0.01).records[0]
    assert (first.status, len(first.attempts), calls[:2]) == ("PASS", 1, ["say hello"] * 2)


def test_an_error_has_no_other_before_it(suite: Suite) -> None:
    with pytest.raises(carob.CarobError) as caught:
        carob.run(suite, sync_agent, repeat=0)
    assert caught.value.__context__ is None


def test_timeout(suite: Suite) -> None:
    async def hang(prompt: str) -> str:
        await asyncio.sleep(600)
        return "hello"

    result = carob.run(suite, hang, timeout=0.05)
    assert statuses(result) == {"A": "ERROR", "B": "ERROR"}
    first = result.records[0].trace.error
    assert first is not None
    assert first.kind == "timeout"


async def test_run_inside_a_running_loop(suite: Suite) -> None:
    """As in Jupyter, where every cell runs in a loop that is not to be blocked for ever."""
    assert carob.run(suite, async_agent).ok
    assert carob.run(suite, sync_agent).ok
    with pytest.raises(carob.CarobError, match="no such file"):
        carob.run("gone.json", sync_agent)


async def test_arun(suite: Suite) -> None:
    loop = asyncio.get_running_loop()
    loops = []

    async def agent(prompt: str) -> str:
        loops.append(asyncio.get_running_loop())
        return "hello"

    result = await carob.arun(suite, agent)
    assert statuses(result) == {"A": "PASS", "B": "PARTIAL"}
    assert set(loops) == {loop}


async def test_two_runs_at_once(suite: Suite) -> None:
    results = await asyncio.gather(*(carob.arun(suite, agent, results_dir="out") for agent in (sync_agent, mute)))
    assert [result.ok for result in results] == [True, False]
    assert len({result.journal.path for result in results}) == 2


def test_run_from_another_thread(suite: Suite) -> None:
    found: list[carob.RunResult] = []
    thread = threading.Thread(target=lambda: found.append(carob.run(suite, async_agent)))
    thread.start()
    thread.join()
    assert found[0].ok


async def test_the_async_twins(suite: Suite) -> None:
    loaded = await carob.aload_suite("suite.json")
    assert loaded == suite
    trace = carob.Trace(case_id="A", final_message="hello")
    assert await carob.ajudge(suite.cases[0], trace) == carob.judge(suite.cases[0], trace)
    run = await carob.arun(suite, async_agent)
    assert statuses(await carob.arescore(run.journal)) == statuses(carob.rescore(run.journal))
    assert statuses(await carob.arerun(run.journal, target=async_agent)) == statuses(run)
    assert await carob.aaudit(run.journal) == carob.audit(run.journal)
    assert await carob.alint("suite.json") == carob.lint("suite.json")


WITHOUT_TWIN = (
    *("case", "check", "converse", "find_project", "judge_many", "open_runner", "open_viewer", "open_watch"),
    *("prepare_judge", "read_conversations", "read_settings", "self_test", "suite", "trace_from_messages"),
)
"""What is only ever awaited, serves until it is stopped, takes no time, or gives one thing after another."""
TWINS = [name for name in carob.__all__ if f"a{name}" in carob.__all__]


def test_no_public_name_is_that_of_a_module() -> None:
    """Importing such a module would put it in the place of the name."""
    modules = {path.stem for path in Path(carob.__file__).parent.iterdir()}
    assert modules.isdisjoint(carob.__all__)


def test_every_function_has_a_twin_of_the_same_signature() -> None:
    functions = {name for name in carob.__all__ if inspect.isfunction(getattr(carob, name))}
    assert functions == {*TWINS, *(f"a{name}" for name in TWINS), *WITHOUT_TWIN}
    for name in TWINS:
        sync, twin = getattr(carob, name), getattr(carob, f"a{name}")
        assert inspect.signature(sync) == inspect.signature(twin)
        assert (inspect.iscoroutinefunction(sync), inspect.iscoroutinefunction(twin)) == (False, True)
        assert (sync.__name__, twin.__name__) == (name, f"a{name}")


async def test_listeners_hear_of_the_run(suite: Suite) -> None:
    heard: list[carob.Event] = []
    await carob.arun(suite, sync_agent, listeners=[heard.append])
    assert isinstance(heard[0], carob.RunStarted)
    assert isinstance(heard[-1], carob.RunFinished)
    assert [event.record.case.id for event in heard if isinstance(event, carob.CaseFinished)] == ["A", "B"]


def test_rescore_by_a_suite(suite: Suite) -> None:
    result = carob.run(suite, sync_agent)
    other = {**SUITE, "cases": [{"id": "A", "prompt": "say hello", "expected": {"must_say_any": ["bye"]}}]}
    Path("other.json").write_text(json.dumps(other))
    for given in ("other.json", Path("other.json"), other, carob.load_suite("other.json")):
        again = carob.rescore(result.journal.path, given)
        assert (statuses(again), again.left_out) == ({"A": "FAIL"}, ("B",))
    assert statuses(carob.rescore(Journal(result.journal.path))) == {"A": "PASS", "B": "PASS"}


def test_a_trace_in_short(suite: Suite) -> None:
    record = carob.run(suite, sync_agent).records[1]
    context = ExecutionContext.of(record.trace)
    assert (context.test_id, context.test_input, context.tools_called) == ("B", "wave", ["wave"])
    assert context.response == context.final_message == "hello: wave"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"concurrency": 0}, "`concurrency` must be at least 1, not 0"),
        ({"repeat": 0}, "`repeat` must be at least 1, not 0"),
        ({"workers": -1}, "`workers` must be at least 0, not -1"),
        ({"timeout": -1}, "`timeout` must be over 0, not -1"),
        ({"run_timeout": float("nan")}, "`run_timeout` must be over 0, not nan"),
        ({"retries": -1}, "`retries` must be at least 0, not -1"),
        ({"max_failures": 0}, "`max_failures` must be at least 1, not 0"),
        ({"backoff": 0}, "`backoff` must be over 0, not 0"),
        ({"concurrency": "2"}, "`concurrency`: expected `int`, got `str`"),
        ({"timeout": "2"}, "`timeout`: expected `float | null`, got `str`"),
        ({"executor": "threads"}, "`executor`: invalid enum value 'threads'"),
        ({"rate": "often"}, "'often' is not a rate"),
        ({"rate": 30}, "`rate`: expected `str | null`, got `int`"),
        ({"workers": 2}, "a target that is an object cannot run in other processes. Name it as 'python:"),
        ({"executor": "ray"}, "a target that is an object cannot run on a Ray cluster. Name it as 'python:"),
        ({"options": {"a": 1}}, "a target that is an object takes no options"),
        ({"cases": ["A", "C"]}, "no case has the id 'C'"),
        ({"cases": "A"}, r"`cases` must be a list, not a string. Write \['A'\]"),
        ({"categories": "greetings"}, "`categories` must be a list, not a string"),
        ({"categories": ["greetings"]}, "no case is selected"),
        ({"cases": []}, "no case is selected"),
        ({"ray_address": "auto"}, "the address of a Ray cluster is given, and nothing runs there"),
    ],
)
def test_options_that_cannot_be(suite: Suite, options: dict[str, Any], said: str) -> None:
    with pytest.raises(carob.CarobError, match=said):
        carob.run(suite, sync_agent, **options)


def test_what_is_no_target_and_what_is_no_trace(suite: Suite) -> None:
    with pytest.raises(carob.CarobError, match="'int' is not a target"):
        carob.run(suite, 3)  # type: ignore[arg-type]
    with pytest.raises(carob.CarobError, match="'list' is not a trace"):
        carob.judge(suite.cases[0], ["hello"])  # type: ignore[arg-type]
    with pytest.raises(carob.CarobError, match="the trace is of case 'B', not of 'A'"):
        carob.judge(suite.cases[0], carob.Trace(case_id="B", final_message="hello"))


@pytest.mark.parametrize("name", [name for name in carob.__all__ if name not in ("__version__", "Event", "Listener")])
def test_public_names_are_documented_and_typed(name: str) -> None:
    found = getattr(carob, name)
    assert inspect.getdoc(found)
    if inspect.isfunction(found):
        signature = inspect.signature(found)
        assert signature.return_annotation is not signature.empty
        assert all(p.annotation is not p.empty for p in signature.parameters.values())


def test_dir_shows_the_public_names() -> None:
    assert set(carob.__all__) <= set(dir(carob))
    assert {"run", "arun", "Target", "Check", "Trace", "RunResult"} <= set(dir(carob))


def test_a_type_checker_sees_the_names_that_there_are() -> None:
    tree = ast.parse(Path(carob.__file__).with_suffix(".pyi").read_text())
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    seen = {alias.asname: f"{node.module}.{alias.name}" for node in imported for alias in node.names if alias.asname}
    homes = {name: f"{home}.{name}" for name, home in vars(carob)["_HOME"].items()}
    assert seen == homes
    assert all(hasattr(carob, name) for name in seen)


def test_names_that_are_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        _ = carob.runn  # type: ignore[attr-defined]


def test_a_helper_of_a_framework_is_not_a_tool_call_of_a_function() -> None:
    def agent(prompt: str) -> dict[str, object]:
        return {"final_message": "Hello.", "tool_calls": [{"name": "final_answer", "result": "Hello."}]}

    case = {"id": "A", "prompt": "p", "expected": {"max_tool_calls": 0}}
    assert carob.run({"carob": 1, "cases": [case]}, agent).ok
