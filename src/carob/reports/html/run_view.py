"""A run as its page shows it: its head, the rows of its cases, what broke, what there is to filter by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Final, NamedTuple

from msgspec import Struct

from carob.checks.catalog import CheckCatalog
from carob.journal.failures import IN_PLACE, NOT_SAID, OF_RUN, Failure, list_failures
from carob.journal.index import NAMED, Choices, FailureGroup, IndexedRun
from carob.journal.run_kinds import settings
from carob.journal.views import RunView
from carob.model.cost import TokenPrices
from carob.model.run import CaseRecord, Header, Summary
from carob.model.verdict import CaseStatus, Status
from carob.reports.escaping import clip
from carob.reports.html.calls import duration
from carob.reports.html.case_view import anchor_of
from carob.reports.run_facts import seconds_between
from carob.scoring.figures import pass_percent, pass_share, rate_words

WIDTH: Final = 1_000
STATUSES: Final = {
    "FAIL": ("failed", "failed"),
    "ERROR": ("error", "ended in an error"),
    "PARTIAL": ("partial", "partial"),
    "XFAIL": ("xfailed", "known to fail"),
    "SKIP": ("skipped", "skipped"),
    "PASS": ("passed", "passed"),
}
"""The figure of a summary that counts each status, and its words, in the order in which they matter to a reader."""
KNOWN: Final = frozenset({CaseStatus.XFAIL, CaseStatus.SKIP})
"""Cases that did not pass and are not said to have broken."""
EXCERPT: Final = 130
MOST_GROUPS: Final = 30
EXAMPLES: Final = 5

Kind = tuple[str, str, str]
"""Name and status of a check, and the kind of its evidence."""


class Part(Struct, frozen=True):
    """A status with its share of the bar."""

    status: str
    words: str
    count: int
    x: float
    width: float


class RateView(Struct, frozen=True):
    """A pass rate with its interval, in parts of a bar."""

    total: int
    percent: str
    low: float
    high: float
    at: float
    words: str


MOST_SETTINGS: Final = 8
LONGEST_SETTING: Final = 80


def _is_shown(name: str, value: str) -> bool:
    """Whether a setting says something to a reader: the target has its own place."""
    return name != "use" and value not in ("", "null", "[]", "{}") and len(value) <= LONGEST_SETTING


class RunHead(NamedTuple):
    """A run, and what its page says of it as a whole. `trouble`: why cases are missing."""

    record: RunView | IndexedRun
    scores: dict[str, tuple[int, int]]
    trouble: str
    prices: TokenPrices | None
    live: bool = False
    model: str = ""
    """The models that were seen in its first case."""

    @property
    def name(self) -> str:
        return suite_name(self.record.header)

    @property
    def settings(self) -> dict[str, str]:
        """Which model and which settings ran, as far as they are known."""
        named = {name: value for name, value in settings(self.record.header).items() if _is_shown(name, value)}
        return ({"Model": self.model} if self.model else {}) | dict(islice(named.items(), MOST_SETTINGS))


def failure_words(group: FailureGroup, catalog: CheckCatalog) -> tuple[str, str]:
    """What went wrong in a group of failures, and what was found: `Did not ask for 'order number'`, ``."""
    check, kind = catalog.find(group.name), group.kind
    example = f"such as {group.found}" if group.found and group.cases > 1 else group.found
    observed = example or kind
    if not any(group.expected):
        return capitalize(f"{group.name} error"), observed
    if group.status == Status.FAILED:
        words = [check.describe_failure(text) if check else f"expected {text}" for text in group.expected]
        observed = "" if kind == NOT_SAID or kind.startswith(IN_PLACE) else f"found {observed}"
    else:
        doubt = "not known" if group.status == Status.UNKNOWN else "the check broke"
        words = [f"{doubt}: {text}" for text in group.expected]
    more = [f"and {group.others} more"] if group.others else []
    return "; ".join((*map(capitalize, words), *more)), observed


def capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def counts(summary: Summary) -> dict[str, int]:
    """How many cases came out with each status, those that matter most first."""
    figures = {status: int(getattr(summary, figure, 0)) for status, (figure, _) in STATUSES.items()}
    return {status: count for status, count in figures.items() if count}


def parts(summary: Summary) -> list[Part]:
    """The shares of a bar."""
    numbers = counts(summary)
    total, x, segments = sum(numbers.values()) or 1, 0.0, []
    for status, count in numbers.items():
        width = WIDTH * count / total
        segments.append(Part(status, STATUSES[status][1], count, round(x, 1), round(width, 1)))
        x += width
    return segments


def rate_view(summary: Summary) -> RateView:
    """The pass rate of a run with its 95% interval."""
    share = pass_share(summary) or 0.0
    low, high, at = (round(WIDTH * value, 1) for value in (summary.rate_low, summary.rate_high, share))
    return RateView(summary.judged, pass_percent(summary), low, high, at, rate_words(summary))


def moment(text: str) -> str:
    """A time as people read it: `2026-11-15 18:30`."""
    try:
        return datetime.fromisoformat(text).strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return text


def format_time_between(started: str, ended: str) -> str:
    elapsed = seconds_between(started, ended)
    return "" if elapsed is None else duration(elapsed * 1000)


def commit(header: Header) -> str:
    """The commit of the project that was run, and whether it held changes that no commit has."""
    project = header.project
    return f"{project.commit[:10]}{' with changes' * project.dirty}" if project else ""


def suite_name(header: Header) -> str:
    """What a suite calls itself, or the last part of its path."""
    if header.suite_name:
        return header.suite_name
    return header.suite.replace("\\", "/").rstrip("/").rpartition("/")[2] or header.suite


class RowView(NamedTuple):
    """One case that came out with this status; `record` is the run of it that is shown, `names` its broken checks.

    `strip` holds the status and the number of each of its runs, where there are several.
    """

    record: CaseRecord
    status: str
    failures: Sequence[Failure]
    names: Sequence[str]
    strip: Sequence[tuple[str, int]]


def row_view(record: CaseRecord, status: str, strip: Sequence[tuple[str, int]] = ()) -> RowView:
    """The row of a case that came out with this status; `record` is the run of it that is shown."""
    failures = list_failures(record)
    names = dict.fromkeys(failure.name for failure in failures if failure.number != OF_RUN)
    return RowView(record, status, failures, tuple(names), strip if len(strip) > 1 else ())


def excerpt(text: str) -> str:
    """One short line."""
    return clip(" ".join(text[: 8 * EXCERPT].split()), EXCERPT)


class RunTally:
    """Takes all runs of a case together."""

    def __init__(self) -> None:
        self._examples: dict[Kind, dict[int, tuple[str, int, int, int]]] = {}
        self._sizes: Counter[Kind] = Counter()
        self._expected: dict[Kind, Counter[str]] = {}
        self._found: dict[Kind, str] = {}
        self._scores: dict[str, list[int]] = {}
        self._statuses: Counter[str] = Counter()
        self._categories: Counter[str] = Counter()
        self._tags: Counter[str] = Counter()
        self._checks: Counter[str] = Counter()

    def add(self, runs: Sequence[CaseRecord], status: str) -> None:
        case = runs[0].case
        failures = [(record, failure) for record in runs for failure in list_failures(record)]
        self._statuses[status] += 1
        self._categories.update([case.category] if case.category else [])
        self._tags.update(case.tags)
        self._checks.update({failure.name for _, failure in failures if failure.number != OF_RUN})
        if status not in KNOWN:
            self._sizes.update({_kind(failure) for _, failure in failures})
            for record, failure in failures:
                self._keep(record, failure)
            for kind, expected in {(_kind(failure), failure.expected): None for _, failure in failures}:
                self._expected.setdefault(kind, Counter())[expected] += 1
        for record in runs:
            for name, score in record.verdict.groups.items():
                score_sums = self._scores.setdefault(name, [0, 0])
                score_sums[0] += score.passed
                score_sums[1] += score.judged

    def _keep(self, record: CaseRecord, failure: Failure) -> None:
        self._found.setdefault(_kind(failure), failure.found)
        examples = self._examples.setdefault(_kind(failure), {})
        if len(examples) < EXAMPLES:
            examples.setdefault(record.index, (record.case.id, record.index, record.repeat, failure.number))

    @property
    def scores(self) -> dict[str, tuple[int, int]]:
        """Passed and judged checks of each group."""
        return {name: (passed, judged) for name, (passed, judged) in self._scores.items()}

    def groups(self) -> list[FailureGroup]:
        """What broke, the most frequent first."""
        return [self._group(kind, count) for kind, count in self._sizes.most_common(MOST_GROUPS)]

    def _group(self, kind: Kind, count: int) -> FailureGroup:
        expected = [text for text, _ in self._expected[kind].most_common(NAMED)]
        others, found = len(self._expected[kind]) - len(expected), self._found.get(kind, "")
        return FailureGroup(*kind, count, tuple(self._examples[kind].values()), tuple(expected), others, found)

    def choices(self) -> Choices:
        """What the table can be filtered by."""
        counted = (self._statuses, self._categories, self._tags, self._checks)
        return Choices(*(dict(sorted(counter.items())) for counter in counted))


def evidence_anchor(index: int, repeat: int, number: int) -> str:
    """The link to a check on the page of its case; without a check, to the case."""
    anchor = anchor_of(index, repeat)
    return anchor if number == OF_RUN else f"{anchor}-k{number}"


def _kind(failure: Failure) -> Kind:
    return failure.name, failure.status, failure.kind
