"""Calls of tools in this process are seen, whatever thread they run in, and belong to their own case or to none."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import pytest
import wrapt
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, tool
from langgraph.graph import START, MessagesState, StateGraph

import carob
from carob.checks.tools.names import ToolCallsNone
from carob.evidence.merge import merge_calls
from carob.evidence.recorder import Recorder
from carob.model.faults import Stub
from carob.model.trace import ToolCall
from carob.model.verdict import Status
from carob.proxy.faults.world import CaseWorld, FaultError
from carob.targets.in_process.cases import RunningCase
from carob.targets.in_process.functions import Door, wrap_function
from carob.targets.in_process.passages import wrap_method
from carob.targets.in_process.tool_classes import TOOL_CLASSES
from carob.targets.in_process.wrapping import WRAPPING
from carob.targets.python import Conversation
from targets.conftest import ask, opened

ROOT = Path(__file__).parents[2]
NONE = ToolCallsNone("refund")


@tool
def refund(order: str) -> dict[str, Any]:
    """Pay back."""
    if order == "broken":
        raise ConnectionError("no card")
    return {"order": order, "status": "paid"}


@tool("refund")
async def refund_async(order: str) -> str:
    """Pay back."""
    await asyncio.sleep(0)
    return f"paid {order}"


class Refund(BaseTool):
    name: str = "refund"
    description: str = "Pay back."

    def _run(self, order: str) -> str:
        return f"paid {order}"


def in_a_pool() -> None:
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda order: refund.invoke({"order": order}), ["A", "B"]))


def in_a_thread() -> None:
    thread = threading.Thread(target=lambda: [refund.invoke({"order": order}) for order in "AB"])
    thread.start()
    thread.join()


def in_a_loop() -> None:
    for order in "AB":
        refund.invoke({"order": order})


def of_a_class() -> None:
    for order in "AB":
        Refund().run({"order": order})


def in_another_loop() -> None:
    async def call() -> None:
        await asyncio.gather(*(refund_async.ainvoke({"order": order}) for order in "AB"))

    thread = threading.Thread(target=lambda: asyncio.run(call()))
    thread.start()
    thread.join()


WAYS = [in_a_pool, in_a_thread, in_a_loop, of_a_class, in_another_loop]


def build(act: Callable[[], None]) -> Any:
    def work(state: MessagesState) -> dict[str, Any]:
        act()
        return {"messages": [AIMessage("Done.")]}

    graph = StateGraph(MessagesState)
    graph.add_node("work", work)
    graph.add_edge(START, "work")
    return graph.compile()


graphs = {act.__name__: build(act) for act in WAYS}
in_a_pool_graph, in_a_thread_graph, in_a_loop_graph, of_a_class_graph, in_another_loop_graph = graphs.values()


def agent_in_a_pool(prompt: str) -> str:
    in_a_pool()
    return "Done."


@pytest.mark.parametrize("act", WAYS, ids=lambda act: act.__name__)
async def test_a_graph_that_calls_tools_itself_is_seen(act: Callable[[], None]) -> None:
    async with opened("langgraph", f"{__name__}:{act.__name__}_graph") as target:
        for _ in range(2):
            trace = await ask(target, "Hi")
            assert sorted(call.arguments["order"] for call in trace.tool_calls) == ["A", "B"]
            assert [(call.name, call.success, call.started) for call in trace.tool_calls] == [
                ("refund", True, True)
            ] * 2
            assert NONE.judge(trace).status is Status.FAILED


async def test_a_function_that_calls_tools_is_seen_and_absence_stays_unknown() -> None:
    async with opened("python", f"{__name__}:agent_in_a_pool") as target:
        trace = await ask(target, "Hi")
    assert [call.arguments for call in trace.tool_calls] == [{"order": "A"}, {"order": "B"}]
    assert NONE.judge(trace).status is Status.FAILED
    assert ToolCallsNone("other").judge(trace).status is Status.UNKNOWN


# -- whose call it is


@pytest.fixture
def wrapped() -> Any:
    WRAPPING.open()
    yield
    WRAPPING.close()


class Servant:
    """A thread that serves whoever asks, as one that outlives its case does."""

    def __init__(self) -> None:
        self._inbox: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._outbox: SimpleQueue[object] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while (work := self._inbox.get()) is not None:
            try:
                self._outbox.put(work())
            except FaultError as error:
                self._outbox.put(error)

    def ask(self, work: Callable[[], object]) -> object:
        self._inbox.put(work)
        return self._outbox.get(timeout=5)


def pay() -> object:
    return refund.invoke({"order": "A"})


@pytest.mark.usefixtures("wrapped")
def test_a_thread_of_an_earlier_case_makes_absence_unknown_and_is_nobodys_call() -> None:
    first, second = Recorder(), Recorder()
    with RunningCase(first, None):
        servant = Servant()
        servant.ask(pay)
        assert [call.name for call in first.ran_calls] == ["refund"]
    with RunningCase(second, None):
        servant.ask(pay)
    assert second.ran_calls == []
    assert [call.text for call in second.possible_calls] == ["refund"]
    trace = second.with_ran_calls(carob.Trace(case_id="b", final_message="Done.", tool_calls=()))
    found = NONE.judge(trace)
    assert found.status is Status.UNKNOWN
    assert "one case in each process" in str(found.found)
    assert ToolCallsNone("other").judge(trace).status is Status.PASSED


@pytest.mark.usefixtures("wrapped")
def test_a_late_call_of_a_pool_is_its_own_cases_and_never_the_next_ones() -> None:
    first, second, go = Recorder(), Recorder(), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        with RunningCase(first, None):
            late = pool.submit(lambda: [go.wait(5), pay()])
        with RunningCase(second, CaseWorld([Stub(tool="refund", result={"order": "stubbed"})])) as case:
            go.set()
            assert "paid" in str(late.result())
            assert case.world is not None
            assert case.world.altered == []
    assert (second.ran_calls, second.possible_calls) == ([], [])


@pytest.mark.usefixtures("wrapped")
def test_a_shared_pool_serves_each_case_by_whoever_hands_work_over() -> None:
    recorders = [Recorder() for _ in range(20)]

    async def run(number: int, pool: ThreadPoolExecutor) -> None:
        with RunningCase(recorders[number], None):
            for _ in range(5):
                await asyncio.get_running_loop().run_in_executor(pool, refund.invoke, {"order": str(number)})

    async def run_all() -> None:
        with ThreadPoolExecutor(4) as pool:
            await asyncio.gather(*(run(number, pool) for number in range(20)))

    asyncio.run(run_all())
    for number, recorder in enumerate(recorders):
        assert [call.arguments for call in recorder.ran_calls] == [{"order": str(number)}] * 5
        assert recorder.possible_calls == []


@pytest.mark.usefixtures("wrapped")
def test_a_stubbed_tool_never_runs_for_a_call_of_no_known_case() -> None:
    with RunningCase(Recorder(), None):
        servant = Servant()
    with RunningCase(Recorder(), CaseWorld([Stub(tool="refund", result={})])):
        assert isinstance(servant.ask(pay), FaultError)


# -- what a call was


@pytest.mark.usefixtures("wrapped")
def test_a_call_that_raises_one_that_never_ran_and_a_nested_one() -> None:
    recorder = Recorder()

    @tool
    def outer(order: str) -> str:
        """Ask the other one."""
        return str(refund.invoke({"order": order}))

    with RunningCase(recorder, None):
        with pytest.raises(ConnectionError):
            refund.invoke({"order": "broken"})
        with pytest.raises(ValueError, match="order"):
            refund.invoke({"wrong": 1})
        outer.invoke({"type": "tool_call", "name": "outer", "args": {"order": "A"}, "id": "7"})
    broke, refused, above, within = [call.as_call() for call in recorder.ran_calls]
    assert (broke.success, broke.error, broke.called) == (False, "ConnectionError: no card", True)
    assert (refused.called, refused.success) == (False, False)
    assert (above.name, above.id, above.success) == ("outer", "7", True)
    assert (within.name, within.parent, within.arguments) == ("refund", "outer", {"order": "A"})


async def test_a_call_that_is_cancelled_began_and_has_no_end() -> None:
    @tool
    async def slow() -> str:
        """Take long."""
        await asyncio.sleep(60)
        return "never"

    recorder = Recorder()
    WRAPPING.open()
    try:
        with RunningCase(recorder, None):
            task = asyncio.create_task(slow.ainvoke({}))
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
    finally:
        WRAPPING.close()
    (call,) = [each.as_call() for each in recorder.ran_calls]
    assert (call.started, call.unfinished, call.success, call.error) == (True, True, None, None)


def handing_over(prompt: str, conversation: Conversation) -> str:
    def charge(card: str, amount: int = 5) -> dict[str, Any]:
        if card == "broken":
            raise ValueError("declined")
        return {"card": card, "amount": amount}

    hidden = conversation.tool(charge)
    hidden("A", amount=7)
    try:
        hidden("broken")
    except ValueError:
        conversation.tool_call("charge", arguments={"card": "broken"}, error="declined")
    return "Done."


async def test_functions_that_are_handed_over_are_recorded_each_once() -> None:
    async with opened("python", f"{__name__}:handing_over") as target:
        trace = await ask(target, "Hi")
    found = sorted((call.arguments["card"], call.arguments.get("amount"), call.success) for call in trace.tool_calls)
    assert found == [("A", 7, True), ("broken", None, False)]
    assert ToolCallsNone("charge").judge(trace).status is Status.FAILED


# -- that it goes


def test_classes_are_as_they_were_once_no_target_is_open() -> None:
    before = BaseTool.run, ThreadPoolExecutor.submit, threading.Thread.start, vars(Refund)["_run"]
    WRAPPING.open()
    assert BaseTool.run is not before[0]
    assert vars(Refund)["_run"] is not before[3]
    WRAPPING.close()
    assert (BaseTool.run, ThreadPoolExecutor.submit, threading.Thread.start, vars(Refund)["_run"]) == before


def test_a_run_without_frameworks_loads_none_and_wraps_nothing() -> None:
    code = (
        "import sys, threading; from carob.targets.in_process.wrapping import WRAPPING\n"
        "start = threading.Thread.start; WRAPPING.open()\n"
        "assert threading.Thread.start is start; assert not WRAPPING.classes\n"
        "names = {name.partition('.')[0] for name in sys.modules}\n"
        "assert not names & {'langchain_core', 'langgraph', 'pydantic', 'mcp', 'agents', 'google'}, names\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_a_class_that_is_loaded_later_is_wrapped_then() -> None:
    code = (
        "from carob.targets.in_process.wrapping import WRAPPING; from carob.evidence.recorder import Recorder\n"
        "from carob.targets.in_process.cases import RunningCase\n"
        "WRAPPING.open()\n"
        "from langchain_core.tools import tool\n"
        "@tool\n"
        "def add(a: int) -> int:\n"
        "    'Add.'\n"
        "    return a + 1\n"
        "recorder = Recorder()\n"
        "with RunningCase(recorder, None):\n"
        "    add.invoke({'a': 1})\n"
        "assert [call.result for call in recorder.ran_calls] == [2]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_calls_of_both_sources_are_each_one() -> None:
    reported = [ToolCall("find", {"q": 1}, id="a"), ToolCall("find", {"q": 2}, result="text")]
    ran = [ToolCall("find", {"q": 2, "limit": 5}, success=False), ToolCall("find", {"q": 3}, success=True)]
    merged = merge_calls(reported, ran)
    assert [(call.arguments, call.success) for call in merged] == [
        ({"q": 1}, None),
        ({"q": 2}, False),
        ({"q": 3}, True),
    ]


OWNERS: list[Any] = []
"""Whose method was called, as an instrumentation sees it that names its spans by the tool."""


@wrapt.decorator
def instrumented(method: Callable[..., Any], tool: Any, args: Any, kwargs: Any) -> Any:
    OWNERS.append(tool)
    return method(*args, **kwargs)


class Traced:
    metadata = SimpleNamespace(get_name=lambda: "look_up", name="look_up")

    @instrumented
    def call(self, order: str) -> str:
        return order

    @instrumented
    async def acall(self, order: str) -> str:
        return order

    @instrumented
    async def stream(self, order: str) -> Any:
        yield order


@pytest.mark.parametrize("name", ["call", "acall", "stream"])
async def test_an_instrumentation_sees_whose_method_is_called(name: str) -> None:
    row = next(row for row in TOOL_CLASSES if row.module == "llama_index.core.tools.types")
    traced, wrapped = Traced(), wrap_method(row, vars(Traced)[name], is_inner=True)
    OWNERS.clear()
    given = wrapped(traced, "A-17")
    if name == "acall":
        given = await given
    elif name == "stream":
        (given,) = [event async for event in given]
    assert (given, OWNERS) == ("A-17", [traced])


async def _awaits() -> None: ...


async def _awaits_items() -> AsyncIterator[int]:
    yield 1


def _gives_items() -> Iterator[int]:
    yield 1


@pytest.mark.parametrize("function", [_awaits, _awaits_items, _gives_items, dict])
def test_a_wrapped_function_is_of_the_kind_that_it_was(function: Callable[..., Any]) -> None:
    """Frameworks ask what they were given before they call it."""
    wrapped = wrap_function(function, "look_up", Door(RunningCase(Recorder(), None), lambda running: running))
    for is_kind in (inspect.iscoroutinefunction, inspect.isasyncgenfunction, inspect.isgeneratorfunction):
        assert is_kind(wrapped) == is_kind(function), is_kind.__name__
