"""Auditing one case that passed."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import regex
from msgspec import structs

from carob.checks.catalog import CheckCatalog
from carob.checks.effects.outcome import Outcome
from carob.checks.numbers.required import MustGroundNumber
from carob.evidence.merge import merge_turns
from carob.features.audit.judging import NOTHING_ALLOWED, Allowance, PassingTrace
from carob.features.audit.model import Brittle, CaseAudit, Kill, Rate, Survivor, UndetectableMutant
from carob.features.audit.operators.base import Equivalent, Mutant, Operator, Subject, is_same
from carob.features.audit.operators.catalog import EVERY_OPERATOR, OF_CALLS
from carob.features.audit.operators.tool_calls import parallel
from carob.features.audit.survivors import Spelling, evidence, noticing, suggest_field
from carob.model.check import CheckSpec
from carob.model.suite import Case, Turn
from carob.model.trace import Trace
from carob.model.verdict import ACCEPTED, CaseStatus, CheckResult
from carob.model.workspace import clear_evidence
from carob.scoring.intervals import clopper_pearson
from carob.suites.formats.builder import DEFAULT_OUTCOME
from carob.text.json_answers import json_answer

DIGITS = 4
Change = Callable[[Trace], Trace]
ELSEWHERE = "Paris is the capital of France, and the Seine runs through it."
TYPOGRAPHY = str.maketrans({"'": "’", "-": "‑"})
# A digit next to the word makes its letters matter: `12M` is not `12m`.
WORD = regex.compile(r"(?<![\w\d])(?<!\d\s)[A-Za-z]{3,}(?!\w)")
BLANK = regex.compile(r"(?<=\S) (?=\S)")
CASE_MATTERS = regex.compile(rb"\(\?\w*-\w*i")
GROUPED = regex.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w,])")
PLAIN_DIGITS = 4
PER_OPERATOR = 8
"""Mutants of one operator that are tried on one case; of more, a sample."""
MOST_MADE = 128
"""Mutants that a sample is drawn from: each holds the whole text, and a long one has thousands of places to change."""


@dataclass
class Count:
    """A tally of mutants."""

    killed: int = 0
    tried: int = 0

    def add(self, killed: int, tried: int = 1) -> None:
        self.killed += killed
        self.tried += tried

    @property
    def rate(self) -> Rate:
        low, high = clopper_pearson(self.killed, self.tried)
        return Rate(self.killed, self.tried, round(low, DIGITS), round(high, DIGITS))


class CasePart(NamedTuple):
    """A piece of a case that can be made wrong, and the trace of the case with such a piece in its place."""

    subject: Subject
    turn: int | None
    within: Change

    def with_turn(self, change: str) -> str:
        return change if self.turn is None else f"turn {self.turn}: {change}"


def parts(subject: Subject) -> Iterator[CasePart]:
    """The pieces of a case: each turn that something is expected of, the last one by what all turns are to come to.

    Where no case says what is expected of a conversation, each turn of it.
    """
    case, trace = subject.case, subject.trace
    if trace.turns and not case.all_checks:
        for number, piece_trace in enumerate(trace.turns, 1):
            earlier = trace.turns[number - 2] if number > 1 else None
            turn = Turn(piece_trace.input)
            yield CasePart(_piece(subject, turn, piece_trace, earlier), number, _replacing(trace, number))
        return
    if not case.turns:
        yield CasePart(subject, None, lambda piece: piece)
        return
    for number, turn in enumerate(case.turns, 1):
        if turn.checks or (case.checks and number == len(case.turns)):
            earlier = trace.turns[number - 2] if number > 1 else None
            piece = _piece(subject, turn, trace.turns[number - 1], earlier)
            yield CasePart(piece, number, _replacing(trace, number))


def everywhere(trace: Trace, change: Change) -> Trace:
    """The trace with every turn of it changed, or all of it where there is but one."""
    if not trace.turns:
        return change(trace)
    return _with_turns(trace, [change(turn) for turn in trace.turns], change(trace).database)


def _with_turns(trace: Trace, turns: Sequence[Trace], database: dict[str, object]) -> Trace:
    """The conversation with other turns; what is known of all of it stays known."""
    merged = merge_turns(turns)
    return structs.replace(merged, database=database, metadata={**trace.metadata, **merged.metadata})


def _piece(subject: Subject, turn: Turn, trace: Trace, earlier: Trace | None) -> Subject:
    checks = (*turn.checks, *subject.case.checks)
    case = structs.replace(subject.case, prompt=turn.prompt, checks=checks, turns=())
    return Subject(case, trace, subject.seed, earlier)


def _replacing(trace: Trace, number: int) -> Change:
    """Puts another turn into the conversation, with what a database gave at its end."""

    def replace_turn(turn: Trace) -> Trace:
        turns = [*trace.turns[: number - 1], turn, *trace.turns[number:]]
        return _with_turns(trace, turns, {**trace.database, **turns[-1].database})

    return replace_turn


class Control(NamedTuple):
    """The trace that such an agent would leave."""

    name: str
    trace: Trace


def controls(subject: Subject, another: Subject | None) -> Iterator[Control]:
    """An agent that does nothing, one that repeats the prompt, and one that gives another case's answer."""
    trace, prompt = subject.trace, subject.case.prompt
    yield Control("does nothing", everywhere(trace, _idle_trace))

    def repeat_prompt(turn: Trace) -> Trace:
        words = turn.input or prompt if trace.turns else prompt
        return structs.replace(_idle_trace(turn), final_message=words)

    yield Control("repeats the prompt", everywhere(trace, repeat_prompt))
    if another is None:
        elsewhere = everywhere(trace, lambda turn: structs.replace(_idle_trace(turn), final_message=ELSEWHERE))
        yield Control("answers another question", elsewhere)
    else:
        answered = everywhere(trace, lambda turn: _as_in(another.trace, _idle_trace(turn)))
        yield Control(f"answers as in {another.case.id}", answered)


def _idle_trace(trace: Trace) -> Trace:
    """Nothing was said or done, and all of that was seen."""
    return structs.replace(
        trace,
        final_message="",
        messages=(),
        tool_calls=(),
        telemetry=(),
        page=trace.page_before if trace.page_before is not None else ("" if trace.page is not None else None),
        database={query: [] for query in trace.database},
        workspace=trace.workspace and clear_evidence(trace.workspace),
        cuts={},
    )


def _as_in(another: Trace, idle: Trace) -> Trace:
    """What was done in another case; what was not looked at there is as if nothing had been done."""
    return structs.replace(
        idle,
        final_message=another.final_message,
        tool_calls=another.tool_calls,
        telemetry=another.telemetry,
        page=another.page if another.page is not None and idle.page is not None else idle.page,
        page_before=another.page_before if another.page_before is not None else idle.page_before,
        database={query: another.database.get(query, rows) for query, rows in idle.database.items()},
        workspace=another.workspace if another.workspace is not None and idle.workspace is not None else idle.workspace,
    )


def white_space(subject: Subject) -> Trace | None:
    """Two blanks between words and at the end of each line, as Markdown breaks lines, and more empty lines."""
    lines = [BLANK.sub("  ", line) + "  " for line in subject.answer.split("\n")]
    return subject.with_answer("\r\n".join(line if line.strip() else "\r\n" for line in lines) + "\n\n")


def letter_case(subject: Subject) -> Trace | None:
    """Upper case, unless a regex of the case says that letter case matters to it."""
    if any(CASE_MATTERS.search(bytes(spec.args)) for spec in subject.case.checks):
        return None
    return subject.with_answer(WORD.sub(lambda m: m[0].upper(), subject.answer))


def unicode_forms(subject: Subject) -> Trace | None:
    return subject.with_answer(unicodedata.normalize("NFD", subject.answer))


def typography(subject: Subject) -> Trace | None:
    return subject.with_answer(subject.answer.translate(TYPOGRAPHY))


def ungroup_digits(subject: Subject) -> Trace | None:
    return subject.with_answer(GROUPED.sub(lambda m: m[0].replace(",", ""), subject.answer))


def group_digits(subject: Subject) -> Trace | None:
    """Only for numbers that the case itself takes for numbers: an id or a year is never written with commas."""
    values = [str(args.get("value", "")) for args in subject.arguments(MustGroundNumber)]
    plain = [value for value in values if value.isascii() and value.isdigit() and len(value) >= PLAIN_DIGITS]
    if not plain:
        return None
    number = regex.compile(rf"(?<![\w.,:/-])(?:{'|'.join(plain)})(?![\w:/-]|[.,]\d)")
    return subject.with_answer(number.sub(lambda m: f"{int(m[0]):,}", subject.answer))


def parallel_order(subject: Subject) -> Trace | None:
    """Calls that ran side by side, recorded in the other order."""
    calls = list(subject.trace.tool_calls)
    for i in range(len(calls) - 1):
        if parallel(calls[i], calls[i + 1]):
            calls[i], calls[i + 1] = calls[i + 1], calls[i]
    return structs.replace(subject.trace, tool_calls=tuple(calls))


def extra_keys(subject: Subject) -> Trace | None:
    return structs.replace(subject.trace, telemetry=tuple(map(_with_more, subject.trace.telemetry)))


def _with_more(line: str) -> str:
    """An object with a key more at each end, every other byte as it was."""
    bare = line.strip()
    if not (bare.startswith("{") and bare.endswith("}")) or bare[1:-1].strip() == "":
        return line
    return f'{{"x_span":"00f067aa",{bare[1:-1]},"x_host":"worker-7"}}'


WORDS = {"": "look for single words, or for fewer of them"}
SPACES = {
    "": r"write \s+ for a blank, and \s*$ for the end of a line",
    "must_ground_numbers": r"use a value, or write \s+ for a blank",
}
NUMBERS = {"": "ask for the number with must_ground_numbers: it knows 1,200 for 1200"}
ORDER = {"": "parallel calls have no order: remove tools_match: ordered"}
KEYS = {"": "look for a part of the line that needs neither its start nor its end"}

EQUIVALENTS = (
    Equivalent("white-space", "other white space and line ends", white_space, SPACES),
    Equivalent("letter-case", "upper case", letter_case, WORDS),
    Equivalent("unicode-forms", "decomposed characters", unicode_forms, WORDS),
    Equivalent("typography", "typographic quotes and hyphens", typography, WORDS),
    Equivalent("thousands-grouped", "1,200 for 1200", group_digits, NUMBERS),
    Equivalent("thousands-plain", "1200 for 1,200", ungroup_digits, NUMBERS),
    Equivalent("parallel-order", "parallel calls in the other order", parallel_order, ORDER),
    Equivalent("telemetry-keys", "extra keys in telemetry", extra_keys, KEYS),
)


def audit_case(
    subject: Subject,
    another: Subject | None,
    spelling: Spelling,
    catalog: CheckCatalog,
    allowance: Allowance = NOTHING_ALLOWED,
) -> CaseAudit:
    """Controls, mutants and equivalents of one case; `another` is the case whose answer the last control gives."""
    judge = PassingTrace(subject, catalog, allowance)
    trial = _Trial(judge, spelling, [_path_in_turn(turn, spec) for turn, spec in subject.case.all_checks])
    pieces = list(parts(subject))
    sees_deeds = subject.trace.workspace is not None and not subject.trace.why_unobserved("processes")
    for operator in EVERY_OPERATOR:
        if sees_deeds and operator.name in OF_CALLS:
            continue
        trial.run(operator, pieces)
    return CaseAudit(
        case_id=subject.case.id,
        rate=trial.count.rate,
        operators=trial.operators,
        survivors=tuple(trial.survivors),
        apart=trial.apart,
        unseen=tuple(trial.unseen),
        controls=tuple(c.name for c in controls(subject, another) if judge.passes(c.trace)),
        brittle=tuple(brittle for part in pieces for brittle in _find_brittle(part, judge, subject.case)),
        redundant=tuple(_redundant(subject, trial.needed)),
        kills=tuple(trial.kills),
        checks=tuple(trial.names),
        partial=trial.partial,
        undecided=trial.undecided,
    )


def mutants(operator: Operator, subject: Subject) -> list[Mutant]:
    """What an operator makes of a case: nothing that changes nothing, and of many a sample."""
    changed = (mutant for mutant in operator.mutants(subject) if not is_same(mutant.trace, subject.trace))
    candidates = list(islice(changed, MOST_MADE))
    if len(candidates) <= PER_OPERATOR:
        return candidates
    return [candidates[i] for i in sorted(subject.chance.sample(range(len(candidates)), PER_OPERATOR))]


class _Trial:
    """The mutants of one case so far."""

    def __init__(self, judge: PassingTrace, spelling: Spelling, names: Sequence[str]) -> None:
        self._judge = judge
        self._spelling = spelling
        self.names = names
        self.kills: list[Kill] = []
        self.count = Count()
        self.operators: dict[str, tuple[int, int]] = {}
        self.survivors: list[Survivor] = []
        self.apart: dict[str, tuple[int, int]] = {}
        self.unseen: list[UndetectableMutant] = []
        self.needed = judge.indispensable()
        self.partial = 0
        self.undecided = 0

    def run(self, operator: Operator, pieces: Sequence[CasePart]) -> None:
        count, passed = Count(), []
        tried = [(part, mutant) for part in pieces for mutant in mutants(operator, part.subject)]
        for piece, mutant in tried:
            results = self._judge.results(piece.within(mutant.trace))
            status = self._judge.status(results)
            if status is CaseStatus.ERROR:
                self.undecided += 1
                continue
            green = self._judge.green(status, results)
            count.add(not green)
            if green:
                passed.append((piece, mutant))
            else:
                self.partial += status is CaseStatus.PARTIAL
                self._add_kill(operator, piece.with_turn(mutant.change), results)
        if count.tried:
            self._keep(operator, count, passed)

    def _add_kill(self, operator: Operator, change: str, results: Sequence[CheckResult]) -> None:
        needed = self._judge.find_needed(tuple(results))
        self.needed |= needed
        bad = [name for name, result in zip(self.names, results, strict=True) if result.status not in ACCEPTED]
        alone = [self.names[index] for index in sorted(needed)]
        self.kills.append(Kill(operator.name, change, tuple(bad), tuple(alone)))

    def _keep(self, operator: Operator, count: Count, passed: Sequence[tuple[CasePart, Mutant]]) -> None:
        """Count it in the kill rate, or separately where no field of such a suite could have noticed."""
        usable = operator.fields if operator.of_rules else noticing(operator, self._spelling)
        if usable and not operator.helps:
            self.operators[operator.name] = count.killed, count.tried
            self.count.add(count.killed, count.tried)
            self.survivors += [self._survivor(operator, *pair, blind=not count.killed) for pair in passed]
        else:
            self.apart[operator.name] = count.killed, count.tried
            unknown = f"{operator.fields[0]}, which this version does not know"
            advice = f"{usable[0]}{operator.helps}" if usable else unknown
            self.unseen += [
                UndetectableMutant(operator.name, part.with_turn(mutant.change), advice) for part, mutant in passed
            ]

    def _survivor(self, operator: Operator, part: CasePart, mutant: Mutant, *, blind: bool) -> Survivor:
        field, hint = "rules", f"{operator.lack}: {mutant.change}"
        if not operator.of_rules:
            field, hint = suggest_field(part.subject, operator, mutant, self._spelling, blind=blind)
        change = evidence(part.subject.trace, mutant.trace)
        return Survivor(operator.name, part.with_turn(mutant.change), change, field, hint)


def _redundant(subject: Subject, needed: set[int]) -> Iterator[str]:
    """The checks that no kill hangs on; not that there is an answer, which is always judged."""
    for index, (turn, spec) in enumerate(subject.case.all_checks):
        implied = spec.name == Outcome.name and subject.case.outcome == DEFAULT_OUTCOME
        if index not in needed and not implied:
            yield _path_in_turn(turn, spec)


def _path_in_turn(turn: int | None, spec: CheckSpec) -> str:
    return spec.path if turn is None else f"turn {turn}: {spec.path}"


def equivalent_traces(part: CasePart) -> Iterator[tuple[Equivalent, Trace]]:
    """A piece in other forms that leave it right."""
    subject = part.subject
    # Other letters or signs make another value, or none, of JSON.
    in_json = isinstance(json_answer(subject.answer).value, dict | list)
    for equivalent in EQUIVALENTS:
        trace = equivalent.change(subject)
        if trace is not None and trace != subject.trace and not (in_json and trace.final_message != subject.answer):
            yield equivalent, trace


def _find_brittle(part: CasePart, judge: PassingTrace, case: Case) -> Iterator[Brittle]:
    for equivalent, trace in equivalent_traces(part):
        for (_, spec), result in zip(case.all_checks, judge.results(part.within(trace)), strict=True):
            if result.status not in ACCEPTED:
                advice = equivalent.advice.get(spec.name, equivalent.advice[""])
                yield Brittle(equivalent.name, part.with_turn(spec.path), result.expected, advice)
