"""What is seen around the answer: telemetry, the page, the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from msgspec import structs

from carob.checks.answer.brief import MustAllowOverrideAction
from carob.checks.page.snapshot import COMPONENTS, CONTROLS, NODE, TALK
from carob.checks.tools.validity import EndedByItself
from carob.features.audit.operators.base import Mutant, Operator, Subject
from carob.model.trace import BY_ITSELF, Trace
from carob.text.folding import fold

TIMES = 100
HOUR = 3600.0


def telemetry_missing(subject: Subject) -> Iterator[Mutant]:
    trace = subject.trace
    if trace.telemetry:
        tools = [call.name for index, call in enumerate(trace.tool_calls) if subject.log.reports_call(index)]
        fix = {"telemetry": [f"tool.{tools[-1]} start"]} if tools else {}
        yield Mutant(structs.replace(trace, telemetry=()), "nothing was logged", fix)


def new_elements(trace: Trace) -> Iterator[tuple[str, str]]:
    """Role and name of each control or component that the turn brought to the page."""
    if trace.page is not None and trace.page_before is not None:
        yield from (element.key for element, is_new in _with_news(trace) if is_new and element.name)


def element_gone(subject: Subject) -> Iterator[Mutant]:
    """What the turn brought to the page, and the controls that the case asks for, each with all that is in it."""
    trace, page = subject.trace, subject.trace.page or ""
    actions = [fold(args["action"]) for args in subject.arguments(MustAllowOverrideAction)]
    covered = 0
    for element, is_new in _with_news(trace):
        # Without a look at the page before the turn, it is unknown which of its controls were there already.
        is_new = is_new and (element.role in COMPONENTS or trace.page_before is not None)
        required = element.role in CONTROLS and any(action in fold(element.name) for action in actions)
        if element.name and (required or (is_new and element.start >= covered)):
            covered = max(covered, element.end)
            changed = structs.replace(trace, page=page[: element.start] + page[element.end :])
            fix = {"ui": [{"role": element.role, "name": element.name}]}
            yield Mutant(changed, f"{element.role} {element.name!r} was not on the page", fix)


def _with_news(trace: Trace) -> Iterator[tuple[_Element, bool]]:
    """Each element of the page, and whether the page before the turn did not have it."""
    before = Counter(element.key for element in _elements(trace.page_before or ""))
    for element in _elements(trace.page or ""):
        was_there = before[element.key] > 0
        before[element.key] -= was_there
        yield element, not was_there


def database_undone(subject: Subject) -> Iterator[Mutant]:
    for query, rows in subject.trace.database.items():
        undone: object = [] if rows else [{"undone": True}]
        changed = {**subject.trace.database, query: undone}
        change = f"{query} gave {'no row' if rows else 'a row'}"
        yield Mutant(structs.replace(subject.trace, database=changed), change, {"database": {query: rows}})


def cut_off(subject: Subject) -> Iterator[Mutant]:
    """A limit ended the turn, where it is known that the agent ended it."""
    if subject.trace.ended_by == BY_ITSELF:
        changed = structs.replace(subject.trace, ended_by="recursion limit")
        yield Mutant(changed, "a limit ended the turn", {"ended": True})
    elif any(subject.arguments(EndedByItself)):
        yield Mutant(structs.replace(subject.trace, ended_by=BY_ITSELF), "the agent ended by itself", {})


def spans_changed(subject: Subject) -> Iterator[Mutant]:
    """The spans of each name: many more of them, none, an hour longer, and all with an error."""
    spans = subject.trace.spans
    for name in dict.fromkeys(span.name for span in spans):
        same = [span for span in spans if span.name == name]
        copies = [structs.replace(span, id=f"{span.id}-{n}") for span in same for n in range(TIMES)]
        others = [span for span in spans if span.name != name]
        slow = [structs.replace(span, ended_at=span.ended_at + HOUR) for span in same if span.ended_at is not None]
        broken = [structs.replace(span, error="503") for span in same]
        changes = (
            ([*spans, *copies], f"there were {TIMES + 1} times as many spans {name!r}"),
            (others, f"there was no span {name!r}"),
            ([*others, *slow], f"{name!r} took an hour longer"),
            ([*others, *broken], f"{name!r} had errors"),
        )
        for changed, change in changes:
            if changed:
                yield Mutant(structs.replace(subject.trace, spans=tuple(changed)), change)


class _Element(NamedTuple):
    """A control or component of a page, from its line to the end of its contents."""

    role: str
    name: str
    start: int
    end: int

    @property
    def key(self) -> tuple[str, str]:
        return self.role, self.name


def _elements(page: str) -> Iterator[_Element]:
    nodes = list(NODE.finditer(page))
    ends = _ends([len(m[1]) for m in nodes])
    log_end = 0
    for index, m in enumerate(nodes):
        role = m[2]
        if role in TALK:
            log_end = max(log_end, ends[index])
        # An article in the log of the conversation is a message, not a component.
        if role in CONTROLS or (role in COMPONENTS and index >= log_end):
            end = nodes[ends[index]].start() if ends[index] < len(nodes) else len(page)
            name = (m[3] or m[5] or "").replace('\\"', '"').replace("\\\\", "\\")
            yield _Element(role, name, m.start(), end)


def _ends(depths: list[int]) -> list[int]:
    """For each node the index of the first one that is not in it."""
    ends = [len(depths)] * len(depths)
    parents: list[int] = []
    for index, depth in enumerate(depths):
        while parents and depths[parents[-1]] >= depth:
            ends[parents.pop()] = index
        parents.append(index)
    return ends


OPERATORS = (
    Operator(
        "telemetry-missing", "the turn left no telemetry", "looks at telemetry", telemetry_missing, ("telemetry",)
    ),
    Operator(
        "element-gone",
        "a control or component is not on the page",
        "looks for it on the page",
        element_gone,
        ("ui", "must_allow_override_actions"),
    ),
    Operator(
        "database-undone",
        "the database does not have what it should",
        "looks at the database",
        database_undone,
        ("database",),
    ),
    Operator(
        "cut-off",
        "a limit of steps, turns, tokens or recursion ended the turn",
        "says that the agent ends by itself",
        cut_off,
        ("ended",),
        helps=": true",
    ),
    Operator(
        "spans-changed",
        "the turn has other spans, slower ones or some with errors",
        "limits the spans of the turn",
        spans_changed,
        ("spans",),
        helps=" with limits for the spans that matter",
    ),
)
