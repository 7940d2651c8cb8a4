"""Law 16: overlap changes nothing. Every interleaving of the steps of two uses gives each what it gets alone.

Each use is a script that says where another may go on; a schedule says who goes on next, and nothing is left to time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextvars import Context
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import greenlet
import pytest
from langchain_core.tools import tool

import carob
from carob.evidence.recorder import Recorder
from carob.targets.in_process.cases import CASES, RunningCase
from carob.targets.in_process.functions import Door, wrap_function
from carob.targets.in_process.wrapping import WRAPPING
from features.guard.policies import DESK, write_policy
from laws.coverage import Coverage, require

MOST_STEPS = 20
"""More than any script has."""
Step = Callable[[], None]
Script = Callable[["Use"], list[str]]


class Use:
    """One of two uses: what it works with, and where the other may go on."""

    def __init__(self, guard: carob.Guard, name: str, step: Step) -> None:
        self.guard = guard
        self.name = name
        self.step = step


def schedules(first: int, second: int) -> Iterator[tuple[int, ...]]:
    """Every order in which so many steps of the one and so many of the other can follow each other."""
    for places in combinations(range(first + second), second):
        yield tuple(int(place in places) for place in range(first + second))


def run_threads(scripts: Sequence[Callable[[Step], list[str]]], schedule: Sequence[int]) -> list[list[str]]:
    """What the scripts give, each in a thread of its own, of which one runs at a time."""
    turns = [threading.Semaphore(0) for _ in scripts]
    done = threading.Semaphore(0)
    over = [False for _ in scripts]
    found: list[Any] = [None for _ in scripts]

    def work(number: int) -> None:
        def step() -> None:
            done.release()
            turns[number].acquire()

        turns[number].acquire()
        try:
            found[number] = scripts[number](step)
        except BaseException as error:  # noqa: BLE001 - it is what the script gives
            found[number] = [repr(error)]
        over[number] = True
        done.release()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(scripts))]
    for thread in threads:
        thread.start()
    for number in (*schedule, *(each for each in range(len(scripts)) for _ in range(MOST_STEPS))):
        if not over[number]:
            turns[number].release()
            done.acquire()
    for thread in threads:
        thread.join()
    return found


def run_tasks(scripts: Sequence[Callable[[Step], list[str]]], schedule: Sequence[int]) -> list[list[str]]:
    """The same in one thread, where each has a context of its own, as tasks of an event loop have."""
    scheduler = greenlet.getcurrent()
    tasks: list[Any] = [
        greenlet.greenlet(lambda script=script: script(lambda: scheduler.switch(None))) for script in scripts
    ]
    for task in tasks:
        task.gr_context = Context()
    found: list[Any] = [None for _ in scripts]
    for number in (*schedule, *(each for each in range(len(scripts)) for _ in range(MOST_STEPS))):
        if not tasks[number].dead:
            found[number] = tasks[number].switch()
    return found


def count_steps(script: Callable[[Step], list[str]]) -> tuple[int, list[str]]:
    steps = [0]

    def step() -> None:
        steps[0] += 1

    found = script(step)
    return steps[0] + 1, found


PAID: list[str] = []


@tool
def get_invoice(id: str) -> dict[str, Any]:
    """Look an invoice up."""
    return {"id": id, "total": 80}


@tool
def pay_invoice(id: str) -> str:
    """Pay an invoice."""
    PAID.append(id)
    return "paid"


def _call(name: str, function: Any, id: str) -> str:
    answer = function.invoke({"type": "tool_call", "id": f"{name}-{id}", "name": function.name, "args": {"id": id}})
    return str(answer.content).partition("\n")[0]


def watches(use: Use) -> list[str]:
    """As docs/guard.md has it."""
    found = []
    with use.guard.frameworks():
        use.step()
        with use.guard.conversation(user="Yes, pay it."):
            use.step()
            found.append(_call(use.name, pay_invoice, use.name))
            use.step()
            found.append(_call(use.name, get_invoice, use.name))
            found.append(_call(use.name, pay_invoice, use.name))
            use.step()
        found.append(_call(use.name, pay_invoice, use.name))
    return found


def watches_later(use: Use) -> list[str]:
    """The conversation is there before the frameworks are watched."""
    found = []
    with use.guard.conversation(user="Yes, pay it."):
        use.step()
        with use.guard.frameworks():
            use.step()
            found.append(_call(use.name, pay_invoice, use.name))
            use.step()
            found.append(_call(use.name, get_invoice, use.name))
            found.append(_call(use.name, pay_invoice, use.name))
        use.step()
    return found


def wraps_functions(use: Use) -> list[str]:
    """Functions that were handed over, of which one is a generator that is taken step by step."""
    found = []

    @use.guard.tool
    def pay_invoice(id: str) -> str:
        PAID.append(id)
        return "paid"

    @use.guard.tool
    def get_invoice(id: str) -> Iterator[Any]:
        yield {"id": id}
        yield {"total": 80}

    with use.guard.conversation(user="Yes, pay it."):
        items = get_invoice(id=use.name)
        next(items)
        use.step()
        found.append(_refusal(lambda: pay_invoice(id=use.name)))
        use.step()
        found.append(str([*items]))
        use.step()
        found.append(_refusal(lambda: pay_invoice(id=use.name)))
    return found


def owns_a_tool(use: Use) -> list[str]:
    """A tool of a framework that was handed over."""
    found = []
    look, pay = use.guard.tool(get_invoice), use.guard.tool(pay_invoice)
    use.step()
    with use.guard.conversation(user="Yes, pay it."):
        use.step()
        found.append(_call(use.name, pay, use.name))
        found.append(_call(use.name, look, use.name))
        use.step()
        found.append(_call(use.name, pay, use.name))
    return found


def has_a_middleware(use: Use) -> list[str]:
    """Its agent asks by itself, whoever watches the frameworks in between."""
    from langchain.agents.middleware.types import ToolCallRequest

    found = []
    middleware = use.guard.middleware()

    def call(function: Any) -> str:
        args = {
            "type": "tool_call",
            "id": f"{use.name}-{function.name}",
            "name": function.name,
            "args": {"id": use.name},
        }
        request = ToolCallRequest(tool_call=args, tool=function, state={}, runtime=None)  # type: ignore[typeddict-item, arg-type]

        def handler(given: Any) -> Any:
            use.step()
            return function.invoke(given.tool_call)

        return str(middleware.wrap_tool_call(request, handler).content).partition("\n")[0]

    with use.guard.conversation(user="Yes, pay it."):
        found.append(call(pay_invoice))
        found.append(call(get_invoice))
        found.append(call(pay_invoice))
        found.append(call(pay_invoice))
    return found


def is_run(use: Use) -> list[str]:
    """A case of a run, whose calls are recorded."""
    recorder = Recorder()
    running = RunningCase(recorder, None)
    WRAPPING.open()
    try:
        with running:
            add = wrap_function(lambda id: id, "add", Door(running, lambda _: running))
            use.step()
            add(id=use.name)
            find.invoke({"id": use.name})
            use.step()
            add(id="2")
    finally:
        WRAPPING.close()
    use.step()
    return [f"{call.name} {call.arguments} {call.as_call().success}" for call in recorder.ran_calls]


@tool
def find(id: str) -> str:
    """No rule names it."""
    return id


def _refusal(call: Callable[[], object]) -> str:
    try:
        return str(call())
    except carob.CallRefusedError as refused:
        return str(refused).partition("\n")[0]


GUARDED = (watches, watches_later, wraps_functions, owns_a_tool, has_a_middleware)
PAIRS = [
    *((first, second) for number, first in enumerate(GUARDED) for second in GUARDED[number:]),
    *((other, is_run) for other in (wraps_functions, owns_a_tool, is_run)),
]
NOT_TRIED = {
    "a run beside frameworks that are used in no run": "a call that no case made is of the one that runs (cases.py)",
}
WORLDS = {"threads": (run_threads, True), "tasks": (run_tasks, True), "tasks of two guards": (run_tasks, False)}


@pytest.fixture(autouse=True)
def nothing_paid() -> None:
    PAID.clear()


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("world", WORLDS)
def test_each_gets_what_it_gets_alone(
    tmp_path: Path, record_property: Callable[[str, object], None], world: str, every: int
) -> None:
    """In every interleaving of two; here in each sixth."""
    run, shared = WORLDS[world]
    coverage = Coverage(16, f"overlap changes nothing, {world}", doors=PAIRS, exceptions=NOT_TRIED)
    policy = write_policy(tmp_path, DESK)
    guards = [carob.Guard(policy), carob.Guard(policy)]

    def of(script: Script, number: int) -> Callable[[Step], list[str]]:
        return lambda step: script(Use(guards[0 if shared else number], f"A{number}", step))

    for pair in PAIRS:
        scripts = [of(script, number) for number, script in enumerate(pair)]
        alone = [count_steps(script) for script in scripts]
        for schedule in islice(schedules(*(steps for steps, _ in alone)), 0, None, every):
            PAID.clear()
            together = run(scripts, schedule)
            paid = [f"A{number}" for number, script in enumerate(pair) if script is not is_run]
            whole = together == [found for _, found in alone] and sorted(PAID) == paid and CASES.of_none is None
            names = " and ".join(script.__name__ for script in pair)
            coverage.try_one(whole, f"{names} {schedule}: {together}, alone {alone}, paid {PAID}")
    require(coverage, record_property)


def test_the_scripts_pay_once_and_are_refused_alone(tmp_path: Path) -> None:
    """What is compared is worth it: a refusal, then a payment."""
    guard = carob.Guard(write_policy(tmp_path, DESK))
    for script in GUARDED:
        PAID.clear()
        _, found = count_steps(lambda step, script=script: script(Use(guard, "A", step)))
        assert found[0] == "The call of pay_invoice was not made.", script.__name__
        assert PAID == ["A"], script.__name__


def test_a_thread_that_was_there_before_is_of_no_conversation(tmp_path: Path) -> None:
    """Also of the only one: what another request looked up is no evidence for it."""
    guard, begins, is_over = carob.Guard(write_policy(tmp_path, DESK)), threading.Event(), threading.Event()

    def look() -> None:
        begins.wait(60)
        get_invoice.invoke({"id": "A"})
        is_over.set()

    with guard.frameworks():
        threading.Thread(target=look).start()
        with guard.conversation(user="Yes, pay it."):
            begins.set()
            assert is_over.wait(60)
            with pytest.raises(Exception, match="pay_invoice was not made"):
                pay_invoice.invoke({"id": "A"})
    assert PAID == []
