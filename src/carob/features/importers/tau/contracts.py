"""Tasks of tau-bench and tau2 as contracts: the writes of the gold actions and no other, and words of some answer.

Both rewards ask whether the database is the one after the gold actions. A file of tasks holds no database: the contract
is that the calls that change something were made with the same arguments and succeeded, and that no other call that may
change something, by the name of its tool, succeeded. Calls of the simulated user are those of `user.NAME`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from carob.model.verdict import OWN_RULE
from carob.suites.diagnostics import Path
from carob.suites.formats.builder import Expectations
from carob.text.tool_names import is_any_named

USER = "user."
_READS = (
    "get", "find", "search", "list", "check", "look", "lookup", "read", "fetch", "query", "show", "view", "calculate",
    "think",
)  # fmt: skip
_HANDS_OVER = ("transfer*_human_agent", "request*_human_agent")
_HARMLESS = (
    *(f"{by}{name}{rest}" for by in ("", USER) for name in _READS for rest in ("", "_*")),
    *(f"{by}{name}{rest}" for by in ("", USER) for name in _HANDS_OVER for rest in ("", "s", "_*", "s_*")),
)
"""Tools that change nothing, by their names: reads, sums, thoughts and a hand-over."""
_NUMBER = re.compile(r"\d+(\.\d+)?")


class Action(NamedTuple):
    """A gold call. `compared`: the arguments that count, None for all."""

    tool: str
    arguments: dict[str, Any]
    compared: Sequence[str] | None = None

    @property
    def writes(self) -> bool:
        """Whether it may change something, by its name."""
        return not is_any_named(_HARMLESS, self.tool)


def writing_tools(actions: Iterable[Action]) -> list[str]:
    return sorted({action.tool for action in actions if action.writes})


def expect_writes(actions: Sequence[Action], tools: Sequence[str]) -> list[dict[str, Any]]:
    """The writes of the gold one to one, and no other write with `tools`."""
    writes = [action for action in actions if action.writes]
    return [*_expected_writes(writes), *_forbidden_writes(writes, tools)]


def forbid_other_writes(case: Expectations, tools: Sequence[str], path: Path) -> None:
    """No tool but these, and those that change nothing, succeeded."""
    rule = {
        "id": "no-other-writes",
        "why": "The database is as after the gold actions.",
        "each": {"call": "*", "success": True, "except": [*_HARMLESS, *tools]},
        "at_most": 0,
    }
    case.check(OWN_RULE, {"rule": rule}, path)


def _expected_writes(writes: Sequence[Action]) -> Iterator[dict[str, Any]]:
    for action in _distinct(writes):
        yield {
            "tool": action.tool,
            "arguments": _same_arguments(action),
            "success": True,
            "times": writes.count(action),
        }


def _same_arguments(action: Action) -> dict[str, Any]:
    """The arguments of a gold call. A list of ids has no order, unless another list of the call pairs with it."""
    lists = [name for name, value in action.arguments.items() if isinstance(value, list)]
    if len(lists) != 1 or not all(isinstance(entry, str | int) for entry in action.arguments[lists[0]]):
        return {"$eq": action.arguments}
    members = {name: {"$set" if name in lists else "$eq": value} for name, value in action.arguments.items()}
    return {"$only": members}


def _negate(same: dict[str, Any]) -> dict[str, Any]:
    return {"$ne": same["$eq"]} if "$eq" in same else {"$not": same}


def _forbidden_writes(writes: Sequence[Action], tools: Sequence[str]) -> Iterator[dict[str, Any]]:
    for tool in tools:
        others = [_negate(_same_arguments(action)) for action in _distinct(writes) if action.tool == tool]
        arguments = {"arguments": {"$all": others}} if others else {}
        yield {"tool": tool, **arguments, "success": True, "never": True}


def expect_actions(actions: Sequence[Action]) -> list[dict[str, Any]]:
    """A call for each action, with the arguments that count, as far as the call has them."""
    calls: list[dict[str, Any]] = []
    for action in actions:
        entry = {"tool": action.tool, **_expected_arguments(action)}
        if entry not in calls:
            calls.append(entry)
    return calls


def _expected_arguments(action: Action) -> dict[str, Any]:
    if action.compared is None:
        members = {name: {"$any": [{"$absent": True}, {"$eq": value}]} for name, value in action.arguments.items()}
        return {"arguments": {"$only": members}}
    arguments = action.arguments
    counted = {name: {"$eq": arguments[name]} if name in arguments else {"$absent": True} for name in action.compared}
    return {"arguments": counted} if counted else {}


def _distinct(writes: Sequence[Action]) -> list[Action]:
    return [action for index, action in enumerate(writes) if action not in writes[:index]]


def expect_words(words: Sequence[str]) -> dict[str, Any]:
    """`in_any_turn` for words that some answer has: numbers as whole numbers, with or without separators."""
    numbers = [number_regex(word) for word in words if _NUMBER.fullmatch(word)]
    texts = [word for word in words if not _NUMBER.fullmatch(word)]
    fields: Mapping[str, Any] = {"must_match_regex": numbers, "expected_contains": texts}
    return {key: value for key, value in fields.items() if value}


def number_regex(number: str) -> str:
    """A number as an answer may write it: with separators of thousands, with a sign, not inside a longer number."""
    digits, dot, decimals = number.partition(".")
    zeros = "0*" if dot else r"(?:\.0+)?"
    return rf"(?<!\d)(?<!\d[.,]){',?'.join(digits)}{re.escape(dot)}{decimals}{zeros}(?![.,]?\d)"
