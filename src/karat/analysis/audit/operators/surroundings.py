"""What is seen around the answer: telemetry, the page, the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from msgspec import structs

from karat.analysis.audit.operators.base import Mutant, Operator, Subject
from karat.checks.answer.brief import MustAllowOverrideAction
from karat.checks.page.snapshot import COMPONENTS, CONTROLS, NODE, TALK
from karat.model.trace import Trace
from karat.text.folding import fold

COUNT = "SELECT count(*) AS n FROM bookings"
BOARD = Trace(
    case_id="example",
    final_message="Added.",
    tool_calls=(),
    telemetry=('{"source":"turn","event":"end"}',),
    page='- main:\n  - region "GitHub":\n    - heading "GitHub"\n- button "Snooze"',
    page_before="- main",
    database={COUNT: [{"n": 1}]},
)


def telemetry_missing(subject: Subject) -> Iterator[Mutant]:
    trace = subject.trace
    if trace.telemetry:
        tools = [call.name for index, call in enumerate(trace.tool_calls) if subject.log.reports_call(index)]
        fix = {"telemetry": [f"tool.{tools[-1]} start"]} if tools else {}
        yield Mutant(structs.replace(trace, telemetry=()), "nothing was logged", fix)


def new_elements(trace: Trace) -> Iterator[tuple[str, str]]:
    """Role and name of each control or component that the turn brought to the page."""
    if trace.page is None or trace.page_before is None:
        return
    before = Counter(_key(element) for element in _elements(trace.page_before))
    for element in _elements(trace.page):
        if before[_key(element)]:
            before[_key(element)] -= 1
        elif element.name:
            yield _key(element)


def element_gone(subject: Subject) -> Iterator[Mutant]:
    """What the turn brought to the page, and the controls that the case asks for, each with all that is in it."""
    page = subject.trace.page
    if page is None:
        return
    wanted = [fold(args["action"]) for args in subject.arguments(MustAllowOverrideAction)]
    before = (
        None if subject.trace.page_before is None else Counter(_key(e) for e in _elements(subject.trace.page_before))
    )
    done = 0
    for element in _elements(page):
        if before is not None and before[_key(element)]:
            before[_key(element)] -= 1
            new = False
        else:
            # Without a look at the page before the turn, it is unknown which of its controls were there already.
            new = element.role in COMPONENTS or before is not None
        asked = element.role in CONTROLS and any(action in fold(element.name) for action in wanted)
        if (asked or (new and element.start >= done)) and element.name:
            done = max(done, element.end)
            left = page[: element.start] + page[element.end :]
            fix = {"ui": [{"role": element.role, "name": element.name}]}
            yield Mutant(
                structs.replace(subject.trace, page=left), f"{element.role} {element.name!r} was not on the page", fix
            )


def database_undone(subject: Subject) -> Iterator[Mutant]:
    for query, rows in subject.trace.database.items():
        other: object = [] if rows else [{"undone": True}]
        changed = {**subject.trace.database, query: other}
        change = f"{query} gave {'no row' if rows else 'a row'}"
        yield Mutant(structs.replace(subject.trace, database=changed), change, {"database": {query: rows}})


class _Element(NamedTuple):
    """A control or component of a page, from its line to the end of its contents."""

    role: str
    name: str
    start: int
    end: int


def _elements(page: str) -> Iterator[_Element]:
    found = list(NODE.finditer(page))
    ends = _ends([len(m[1]) for m in found])
    log_end = 0
    for index, m in enumerate(found):
        role = m[2]
        if role in TALK:
            log_end = max(log_end, ends[index])
        # An article in the log of the conversation is a message, not a component.
        if role in CONTROLS or (role in COMPONENTS and index >= log_end):
            end = found[ends[index]].start() if ends[index] < len(found) else len(page)
            name = (m[3] or m[5] or "").replace('\\"', '"').replace("\\\\", "\\")
            yield _Element(role, name, m.start(), end)


def _ends(depths: list[int]) -> list[int]:
    """For each node the index of the first one that is not in it."""
    ends = [len(depths)] * len(depths)
    around: list[int] = []
    for index, depth in enumerate(depths):
        while around and depths[around[-1]] >= depth:
            ends[around.pop()] = index
        around.append(index)
    return ends


def _key(element: _Element) -> tuple[str, str]:
    return element.role, element.name


OPERATORS = (
    Operator(
        name="telemetry-missing",
        about="the turn left no telemetry",
        nothing="looks at telemetry",
        mutants=telemetry_missing,
        kills={"telemetry": ['"event":"end"']},
        trace=BOARD,
    ),
    Operator(
        name="element-gone",
        about="a control or component is not on the page",
        nothing="looks for it on the page",
        mutants=element_gone,
        kills={
            "ui": [{"role": "region", "name": "GitHub"}],
            "must_allow_override_actions": ["Snooze"],
        },
        trace=BOARD,
    ),
    Operator(
        name="database-undone",
        about="the database does not have what it should",
        nothing="looks at the database",
        mutants=database_undone,
        kills={"database": {COUNT: [1]}},
        trace=BOARD,
    ),
)
