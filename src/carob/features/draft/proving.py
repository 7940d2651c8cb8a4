"""Whether a drafted case holds and can fail: judged by its own traces, loosened where they differ, audited."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from carob.checks.catalog import CheckCatalog
from carob.checks.tools.calls import ToolCalls
from carob.features.audit.case_audit import Count, audit_case
from carob.features.audit.model import CaseAudit
from carob.features.audit.operators.base import Subject
from carob.features.audit.operators.catalog import OPERATORS
from carob.features.audit.survivors import Spelling
from carob.features.draft.expectations import Expected, Noted
from carob.features.draft.writing import is_variable, plain_value
from carob.matchers.reading import matcher
from carob.model.suite import Case
from carob.model.trace import Trace
from carob.model.verdict import CheckResult, Status
from carob.scoring import verdicts
from carob.suites.reading import read_suite
from carob.text.wording import pluralize

SAMPLES = 20
"""Runs that miss a line are kept up to so many, to loosen it by."""
MARKED = 50
"""A line that fewer than one run of so many does not hold is kept, and says so."""
ROUNDS = 4
SPELLING = ("carob-1", "1")
NOT_TRIED = (
    "ended", "valid_arguments", "only_effects", "no_false_success", "grounded_numbers", "outcome", "min_words",
    "tool_calls_any",
)  # fmt: skip
"""What no operator tries in every case, or what no draft should be without: kept whatever the audit says."""
FIRST_TO_GO = (
    "max_tool_calls", "max_first_token_seconds", "max_steps", "telemetry", "answer_json", "ui", "state",
    "must_ground_numbers", "tool_requires", "tools_used", "tool_calls", "max_words", "max_cost_usd", "max_tokens",
)  # fmt: skip
"""Of lines that catch the same, which is dropped first."""
WORDINGS = frozenset(operator.about for operator in OPERATORS if operator.of_answer)
_STEP = re.compile(r"^(\w+)(?:\[(\d+)\])?(?:\.(.+))?$")

Top = Mapping[str, Any]


class DraftLine(NamedTuple):
    """A line of a case: which turn it is of, and where in `expected` it is."""

    turn: int | None
    path: str

    @property
    def shown(self) -> str:
        return self.path if self.turn is None else f"turn {self.turn}: {self.path}"

    @property
    def field(self) -> str:
        match = _STEP.match(self.path)
        return match[1] if match else self.path


def read_cases(top: Top, cases: Iterable[Mapping[str, Any]], catalog: CheckCatalog) -> tuple[Case, ...]:
    """The cases as a run would read them."""
    document = {"carob": 1, **top, "cases": [*cases]}
    return read_suite(msgspec.json.encode(document), "draft.json", catalog).cases


def places_of(case: Case) -> list[DraftLine]:
    return [DraftLine(turn, spec.path) for turn, spec in case.all_checks]


class LineTally:
    """How the lines of one case fared with the traces of its group."""

    def __init__(self, case: Case, catalog: CheckCatalog) -> None:
        self.case = case
        self._catalog = catalog
        self._places = places_of(case)
        self.judged = 0
        self.missed: Counter[DraftLine] = Counter()
        self.reasons: dict[DraftLine, CheckResult] = {}
        self.samples: dict[DraftLine, list[Trace]] = {}

    def judge(self, trace: Trace) -> bool:
        """Judge a trace; whether it passes."""
        self.judged += 1
        results = verdicts.case_results(self.case, trace, self._catalog)
        passed = True
        for line, result in zip(self._places, results, strict=False):
            if result.status is Status.PASSED:
                continue
            passed = False
            self.missed[line] += 1
            self.reasons.setdefault(line, result)
            if len(samples := self.samples.setdefault(line, [])) < SAMPLES:
                samples.append(trace)
        return passed

    def is_marked(self, line: DraftLine) -> bool:
        """Whether so few runs missed a line that it is kept, and the runs are a finding."""
        return 0 < self.missed[line] * MARKED <= self.judged


class DraftCase(NamedTuple):
    """A case with its comments, as a tree that can still change."""

    tree: dict[str, Any]
    """Keys of the case without `expected` and `turns`."""
    expected: Expected
    turns: list[tuple[str, Expected]]
    row: dict[str, Any]
    """What the prompts of this case give the variables of `expected`, where it is not a table."""

    def fill(self) -> None:
        """Put the values of its row in the place of the variables."""
        fill(self.expected, self.row)

    def plain_tree(self, *, variables: bool = True) -> dict[str, Any]:
        """The case without its comments."""
        tree: dict[str, Any] = {
            key: plain_value(value) for key, value in self.tree.items() if variables or key != "each"
        }
        if not variables:
            tree |= {"id": "case"} | ({"prompt": "?"} if "prompt" in tree else {})
        if self.turns:
            tree["turns"] = [
                {"prompt": prompt} | ({"expected": plain_value(expected, variables=variables)} if expected else {})
                for prompt, expected in self.turns
            ]
        return tree | {"expected": plain_value(self.expected, variables=variables)}

    def fields_in(self, turn: int | None) -> Expected:
        return self.expected if turn is None else self.turns[turn - 1][1]

    def drop(self, line: DraftLine) -> None:
        """Take a line out."""
        expected, match = self.fields_in(line.turn), _STEP.match(line.path)
        field, index = (match[1], match[2]) if match else (line.path, None)
        if field == "outcome":
            expected[field] = Noted("completed", "the outcome varied")
        elif index is not None and isinstance(expected.get(field), list):
            del expected[field][int(index)]
            if not expected[field]:
                del expected[field]
        else:
            expected.pop(field, None)
            if field == "tools_used":
                expected.pop("tools_match", None)

    def loosen(self, line: DraftLine, samples: Sequence[Trace]) -> None:
        """Ask for less, so that these traces may pass."""
        match = _STEP.match(line.path)
        entries = self.fields_in(line.turn).get("tool_calls", [])
        if line.field == "answer_json" and (described := _without_constants(self.fields_in(line.turn))):
            self.fields_in(line.turn)["answer_json"] = described
            return
        if line.field != "tool_calls" or not match or int(match[2]) >= len(entries):
            self.drop(line)
            return
        entry = entries[int(match[2])]
        blamed = [path for path in _leaves(entry.get("arguments", {})) if _is_missed(entry, path, samples, line.turn)]
        for path in blamed:
            _remove(entry["arguments"], path)
        if "arguments" in entry and not entry["arguments"]:
            del entry["arguments"]
        if blamed:
            return
        turns = [trace.of_turn(line.turn) for trace in samples]
        parts = [part for part in ("error", "result", "times", "success", "arguments") if part in entry]
        guilty = next((part for part in parts if _holds({**entry, part: None}, turns)), None)
        for part in [guilty] if guilty else parts:
            del entry[part]
            if _holds(entry, turns):
                return
        self.drop(line)


def _without_constants(expected: Expected) -> Noted | None:
    """What is asked of a structured answer, without the values of its fields; None if there are none."""
    noted = expected.get("answer_json")
    if not isinstance(noted, Noted):
        return None
    properties = noted.value["properties"]
    if not any("const" in about for about in properties.values()):
        return None
    plain = {name: {} if "const" in about else about for name, about in properties.items()}
    return Noted({**noted.value, "properties": plain}, noted.note)


def fill(tree: Any, row: Mapping[str, Any]) -> None:
    """Put the values of one row in the place of the variables."""
    for key, below in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        if is_variable(below):
            tree[key] = Noted(row[below.value.name], below.note) if below.value.name in row else below
        else:
            fill(below, row)


def _holds(entry: Expected, traces: Sequence[Trace]) -> bool:
    """Whether all of these traces have such a call."""
    constraints = {key: value for key, value in entry.items() if value is not None}
    check = msgspec.convert(plain_value(constraints, variables=False), ToolCalls)
    return all(check.judge(trace).status is Status.PASSED for trace in traces)


def _leaves(tree: Mapping[str, Any], path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    leaves: list[tuple[str, ...]] = []
    for key, below in tree.items():
        leaves += _leaves(below, (*path, key)) if isinstance(below, dict) else [(*path, key)]
    return leaves


def _is_missed(entry: Expected, path: tuple[str, ...], samples: Sequence[Trace], turn: int | None) -> bool:
    """Whether no call of one of these traces has what is asked of an argument."""
    expected: Any = entry["arguments"]
    for step in path:
        expected = expected[step]
    if is_variable(expected):
        return False
    holds = matcher(plain_value(expected)).holds
    for trace in samples:
        calls = [call for call in trace.of_turn(turn).tool_calls if call.name == entry["tool"]]
        if calls and not any(holds(_at(call.arguments, path)) for call in calls):
            return True
    return False


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        if not isinstance(value, dict) or step not in value:
            return None
        value = value[step]
    return value


def _remove(tree: dict[str, Any], path: tuple[str, ...]) -> None:
    for step in path[:-1]:
        tree = tree[step]
    tree.pop(path[-1], None)


class Audited(NamedTuple):
    """What the audit of a case came to."""

    audit: CaseAudit
    useless: list[DraftLine]


def audit_draft(case: Case, trace: Trace, another: tuple[Case, Trace] | None, catalog: CheckCatalog) -> Audited:
    """Audit a case with a trace that passes it, and name the lines that catch nothing which others do not."""
    spelling = Spelling(*SPELLING, catalog)
    other = Subject(*another) if another else None
    audit = audit_case(Subject(case, trace), other, spelling, catalog)
    return Audited(audit, _find_useless(audit, places_of(case)))


def _find_useless(audit: CaseAudit, places: Sequence[DraftLine]) -> list[DraftLine]:
    """Lines that can go one after the other, and every wrong trace that is noticed now still is."""
    catching = [set(kill.checks) for kill in audit.kills]
    dropped: list[DraftLine] = []
    order = {field: rank for rank, field in enumerate(FIRST_TO_GO)}
    for line in sorted(places, key=lambda place: order.get(place.field, len(order))):
        if line.field in NOT_TRIED or (line.turn is None and line.field == "tool_calls"):
            continue
        if all(caught - {line.shown} for caught in catching if line.shown in caught):
            dropped.append(line)
            for caught in catching:
                caught.discard(line.shown)
    return dropped


class Rates:
    """Wrong traces noticed, by all operators and by those that do not change wording, over all cases."""

    def __init__(self) -> None:
        self.all, self.facts = Count(), Count()
        self._survived: Counter[str] = Counter()
        self._tried: Counter[str] = Counter()
        self._controls: Counter[str] = Counter()

    def add(self, audit: CaseAudit) -> None:
        tables = audit.operators | audit.apart
        for operator in OPERATORS:
            if operator.name not in tables:
                continue
            killed, tried = tables[operator.name]
            self._tried[operator.about] += tried
            self._survived[operator.about] += tried - killed
            if operator.name in audit.operators:
                self.all.add(killed, tried)
                if not operator.of_answer:
                    self.facts.add(killed, tried)
        self._controls.update("answers another case" if " in " in name else name for name in audit.controls)

    def describe_unseen(self) -> tuple[str, ...]:
        """What passes although it is wrong: first what was done or stated, then what only words would show."""
        controls = [
            f"{pluralize(count, 'case')} would pass an agent that {name}" for name, count in self._controls.items()
        ]
        facts = [about for about, _ in self._survived.most_common() if about not in WORDINGS and self._survived[about]]
        words = [about for about, _ in self._survived.most_common() if about in WORDINGS and self._survived[about]]
        lines = [f"{about}: {self._survived[about]} of {self._tried[about]} pass" for about in facts]
        worded = [f"in the text of the answer: {'; '.join(words)}"] if words else []
        return (*controls, *lines, *worded)
