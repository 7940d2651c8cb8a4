"""`approve`, `deny` and `edit` of a turn: what the user decides about the calls that wait for approval."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from carob.model.suite import Turn, TurnDecision
from carob.suites.diagnostics import Path, PathDiagnostic
from carob.suites.shapes.containers import Key, ListShape, MapShape, UnionShape
from carob.suites.shapes.scalars import NOT_BLANK, ONE_LINE, AnyShape, TextShape
from carob.text.wording import quoted

DECISION_KEYS = ("approve", "deny", "edit")
SILENT = "the turn says nothing to the agent. Give it a 'prompt', or 'approve', 'deny' or 'edit' a call."
NO_WORDS = "'prompt' is here too. A turn is either words or a decision: keep one."
TOO_EARLY = "nothing waits for an answer before the first turn. Begin with a 'prompt' after which the agent asks."
TWICE = "{} is in {} too. Keep one."
_NAME = TextShape(pattern=ONE_LINE)
_NAMES = UnionShape((_NAME, ListShape(_NAME, 1)))


def decision_keys() -> dict[str, Key]:
    """The keys of a turn that decides."""
    reasons = MapShape(_NAME, TextShape(pattern=NOT_BLANK), 1)
    changes = MapShape(_NAME, MapShape(_NAME, AnyShape(), 1), 1)
    return {
        "approve": Key(_NAMES, "The tools whose waiting calls may run; `*` in a name is any text."),
        "deny": Key(
            UnionShape((*_NAMES.shapes, reasons)),
            "The tools whose waiting calls may not run; as an object, each with the reason that the agent is given.",
        ),
        "edit": Key(changes, "The tools whose waiting calls may run, each with the arguments that are changed first."),
    }


def read_decision(turn: Mapping[str, Any]) -> TurnDecision | None:
    """What a turn of a sound shape decides; None for one of words."""
    if not any(key in turn for key in DECISION_KEYS):
        return None
    approved, denied = turn.get("approve", ()), turn.get("deny", {})
    return TurnDecision(
        tuple(_list_names(approved)),
        denied if isinstance(denied, dict) else dict.fromkeys(_list_names(denied), ""),
        turn.get("edit", {}),
    )


def spell_turn(turn: Turn) -> dict[str, Any]:
    """What a turn says or decides, in the words of a suite."""
    decision = turn.decision
    if decision is None:
        return {"prompt": turn.prompt}
    denied = decision.deny if any(decision.deny.values()) else [*decision.deny]
    keys = {"approve": [*decision.approve], "deny": denied, "edit": decision.edit}
    return {key: value for key, value in keys.items() if value}


def find_decision_problems(case: Mapping[str, Any], path: Path) -> Iterator[PathDiagnostic]:
    """What is wrong with the turns of a case, each of a sound shape."""
    for index, turn in enumerate(case.get("turns", ())):
        place, decision = (*path, "turns", index), read_decision(turn)
        if decision is None:
            if "prompt" not in turn:
                yield PathDiagnostic(place, SILENT, "missing-field")
            continue
        if "prompt" in turn:
            yield PathDiagnostic((*place, "prompt"), NO_WORDS, "duplicate-field", key=True)
        if index == 0 and not case.get("setup_prompts"):
            yield PathDiagnostic(place, TOO_EARLY, "no-effect")
        first: dict[str, str] = {}
        named: tuple[Iterable[str], ...] = (decision.approve, decision.deny, decision.edit)
        for key, names in zip(DECISION_KEYS, named, strict=True):
            for name in names:
                if first.setdefault(name, key) != key:
                    message = TWICE.format(quoted(name), quoted(first[name]))
                    yield PathDiagnostic((*place, key), message, "duplicate-field", key=True)


def _list_names(names: Any) -> Iterator[str]:
    yield from (names,) if isinstance(names, str) else names
