"""Law 15: a wrapped tool is the tool: its name is the one that rules use, and nothing succeeded before it ended."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import carob
from carob.errors import UsageError
from carob.evidence.recorder import Recorder
from carob.features.guard.frameworks import GuardedWorld
from carob.model.faults import Fault, Stub
from carob.proxy.faults.world import CaseWorld
from carob.targets.in_process.cases import RunningCase
from carob.targets.in_process.functions import Door, wrap_function
from features.guard.policies import CALLS, write_policy
from laws.callables import CALLABLES, ENDINGS, LOOK, Body, Ending, bring_about
from laws.coverage import Coverage, require


@pytest.fixture
def guard(tmp_path: Path) -> carob.Guard:
    return carob.Guard(write_policy(tmp_path, CALLS))


class Tried:
    """What a door knows of the look-up once its call ended."""

    def __init__(self, *, is_paid: bool | None = None, recorder: Recorder | None = None) -> None:
        self.is_paid = is_paid
        self.calls = [call.as_call() for call in recorder.ran_calls] if recorder is not None else None

    def is_right(self, ending: Ending) -> bool:
        if self.is_paid is not None and self.is_paid is not (ending == "returns"):
            return False
        if self.calls is None:
            return True
        known = {"returns": (True,), "raises": (False,)}.get(ending, (None,))
        names = [call.name for call in self.calls]
        return names == [LOOK] * len(names) and all(call.success in known for call in self.calls)


def _wrap(door: str, guard: carob.Guard, conversation: Any, recorder: Recorder) -> Callable[..., Any]:
    if door == "guard":
        return guard.tool
    if door == "guarded conversation":
        return conversation.tool
    world = {"guarded run": GuardedWorld(lambda: conversation), "faulted run": CaseWorld(faults=[UNREACHED])}.get(door)
    running = RunningCase(recorder, world)
    return lambda function, name="": wrap_function(function, name, Door(running, lambda _: running))


UNREACHED = Fault(hits="tool", name=LOOK, kind="inject", value="!", from_call=9)
DOORS = ("guard", "guarded conversation", "run", "guarded run", "faulted run")


async def _try(door: str, guard: carob.Guard, of: str, ending: Ending) -> Tried | None:
    """One call through one door; None: such a call cannot end so."""
    make, name = CALLABLES[of]
    body, recorder = Body(ending), Recorder()
    with guard.conversation(user="Pay A.") as conversation:
        wrapped = _wrap(door, guard, conversation, recorder)(make(body), name=name)
        if not await bring_about(ending, lambda: wrapped(id="A")):
            return None
        await asyncio.sleep(0)
        is_paid = bool(conversation.allow("pay_invoice", {"id": "A"})) if "guard" in door else None
    return Tried(is_paid=is_paid, recorder=recorder if "run" in door else None)


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_nothing_succeeds_before_it_ended(guard: carob.Guard, record_property: Callable[[str, object], None]) -> None:
    coverage = Coverage(15, "nothing succeeds before it ended", checks=CALLABLES, doors=DOORS)
    ways = 0
    for door in DOORS:
        for of in CALLABLES:
            for ending in ENDINGS:
                tried = asyncio.run(_try(door, guard, of, ending))
                if tried is not None:
                    ways += 1
                    coverage.try_one(tried.is_right(ending), f"{door}: {of} {ending}: {vars(tried)}")
    require(coverage, record_property)
    assert ways > 60 * len(DOORS)


def test_a_stub_answers_for_every_callable_and_the_tool_does_not_run() -> None:
    for of, (make, name) in CALLABLES.items():
        body, recorder = Body("returns"), Recorder()
        running = RunningCase(recorder, CaseWorld([Stub(tool=LOOK, result={"id": "stub"})]))
        wrapped = wrap_function(make(body), name, Door(running, lambda _, running=running: running))
        asyncio.run(bring_about("returns", lambda wrapped=wrapped: _awaited(wrapped(id="A"))))
        [call] = recorder.ran_calls
        assert (call.result, body.began) == ({"id": "stub"}, 0), of


def _awaited(value: Any) -> Any:
    """What a stub gives for a function that is not asynchronous itself is there at once."""
    return iter([value]) if isinstance(value, dict) else value


# -- the name


def unwrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    def get_anything(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return get_anything


def with_its_parameters(function: Callable[..., Any]) -> Callable[..., Any]:
    async def inner(id: str) -> Any:
        return function(id)

    return inner


def by_default(function: Callable[..., Any]) -> Callable[..., Any]:
    def inner(*args: Any, _function: Callable[..., Any] = function) -> Any:
        return _function(*args)

    return inner


class Logged:
    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def wrap(self) -> Callable[..., Any]:
        function = self.function

        def call(**kwargs: Any) -> Any:
            return function(**kwargs)

        return call


def pay(id: str) -> str:
    return f"{id} paid"


NAMELESS: dict[str, Callable[[], Any]] = {
    "lambda": lambda: lambda id: id,
    "partial": lambda: functools.partial(pay, id="A"),
    "partial of a partial": lambda: functools.partial(functools.partial(pay)),
    "object": lambda: _Callable(),
    "method of an object that is called": lambda: _Callable().__call__,
    "decorator": lambda: unwrapped(pay),
    "decorator twice": lambda: unwrapped(unwrapped(pay)),
    "decorator with the parameters of the function": lambda: with_its_parameters(pay),
    "decorator that holds the function as a default": lambda: by_default(pay),
    "decorator in a class": lambda: Logged(pay).wrap(),
    "wraps of a partial": lambda: functools.wraps(functools.partial(pay))(unwrapped(pay)),
    "wraps of a lambda": lambda: functools.wraps(lambda id: id)(unwrapped(pay)),
    "wraps of a decorator": lambda: functools.wraps(unwrapped(pay))(unwrapped(pay)),
}


class _Callable:
    def __call__(self, id: str) -> str:
        return id


def factory(ledger: list[str], fetch: Callable[[str], str]) -> Callable[..., Any]:
    """Tools are often made with what they use."""

    def look_up(id: str) -> str:
        ledger.append(id)
        return fetch(id)

    return look_up


def recorded(**arguments: Any) -> Any:
    return arguments


NAMED: dict[str, tuple[Callable[[], Any], str]] = {
    "function": (lambda: pay, "pay"),
    "function with any arguments": (lambda: recorded, "recorded"),
    "made with what it uses": (lambda: factory([], str), "look_up"),
    "method": (lambda: Logged(pay).wrap, "wrap"),
    "class": (lambda: Logged, "Logged"),
    "built in": (lambda: len, "len"),
    "decorated": (lambda: functools.wraps(pay)(unwrapped(pay)), "pay"),
    "renamed": (lambda: _renamed(unwrapped(pay)), "pay_invoice"),
    "renamed lambda": (lambda: _renamed(lambda id: id), "pay_invoice"),
    "renamed partial": (lambda: _renamed(functools.partial(pay)), "pay_invoice"),
    "cached": (lambda: functools.cache(pay), "pay"),
    "of several types": (lambda: functools.singledispatch(pay), "pay"),
}


def _renamed(function: Any) -> Any:
    function.__name__ = "pay_invoice"
    return function


def _doors(guard: carob.Guard) -> dict[str, Callable[..., Any]]:
    running = RunningCase(Recorder(), None)
    run = lambda function, name="": wrap_function(function, name, Door(running, lambda _: running))  # noqa: E731
    return {"guard": guard.tool, "run": run}


@pytest.mark.parametrize("of", NAMELESS)
def test_a_tool_without_a_name_that_a_person_wrote_is_refused(guard: carob.Guard, of: str) -> None:
    for wrap in _doors(guard).values():
        with pytest.raises(UsageError, match=r'name="pay_invoice"') as refused:
            wrap(NAMELESS[of]())
        assert "0x" not in str(refused.value)
        assert wrap(NAMELESS[of](), name="pay_invoice").__name__ == "pay_invoice"


@pytest.mark.parametrize("of", NAMED)
def test_a_name_that_a_person_wrote_is_the_name_of_the_tool(guard: carob.Guard, of: str) -> None:
    make, name = NAMED[of]
    assert [wrap(make()).__name__ for wrap in _doors(guard).values()] == [name, name]


def test_a_name_that_a_rule_says_was_written_by_a_person(guard: carob.Guard) -> None:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def pay_invoice(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return pay_invoice

    assert guard.tool(decorate(pay)).__name__ == "pay_invoice"


@pytest.mark.parametrize("tool", [7, "pay_invoice", {}])
def test_what_cannot_be_called_is_refused(guard: carob.Guard, tool: Any) -> None:
    for wrap in _doors(guard).values():
        with pytest.raises(UsageError, match="neither a function nor a tool"):
            wrap(tool, name="pay_invoice")


# -- what is judged is what is called


def test_refused_before_anything_happened(guard: carob.Guard) -> None:
    for of, (make, _) in CALLABLES.items():
        body = Body("returns")
        with guard.conversation():
            wrapped = guard.tool(make(body), name="pay_invoice")
            with pytest.raises(carob.CallRefusedError, match="Look an invoice up"):
                asyncio.run(_take_all(wrapped))
        assert not body.began, of


async def _take_all(wrapped: Callable[..., Any]) -> None:
    await bring_about("returns", lambda: wrapped(id="A"))


def test_rules_see_defaults_and_no_object_that_a_method_is_called_on(tmp_path: Path) -> None:
    text = "carob: 1\nrules: [{ id: small, each: { call: pay_invoice }, where: each.arguments.amount <= 100 }]\n"
    guard = carob.Guard(write_policy(tmp_path, text), journal=tmp_path / "decisions.jsonl")

    class Payments:
        @guard.tool
        def pay_invoice(self, id: str, amount: int = 500) -> str:
            return f"{id} {amount}"

        @guard.tool(name="pay_invoice")
        @staticmethod
        def settle(id: str, amount: int = 500) -> str:
            return f"{id} {amount}"

        @guard.tool(name="pay_invoice")
        @classmethod
        def close(cls, id: str, amount: int = 500) -> str:
            return f"{id} {amount}"

    desk = Payments()
    with guard.conversation():
        for pay_invoice in (desk.pay_invoice, Payments.settle, desk.settle, Payments.close):
            assert pay_invoice("A", amount=5) == "A 5"  # type: ignore[operator]
            with pytest.raises(carob.CallRefusedError):
                pay_invoice("A")  # type: ignore[operator]
    assert "Payments" not in (tmp_path / "decisions.jsonl").read_text()
