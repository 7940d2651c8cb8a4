"""A record as its page shows it: what was said, what was called, how each check came out, and where it looked."""

from __future__ import annotations

import json
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import msgspec
from msgspec import Struct, structs

from carob.checks.catalog import CheckCatalog
from carob.journal.failures import label
from carob.model.cost import COST, Spent, TokenPrices, count_spent
from carob.model.run import RECORDED_CHECK, CaseRecord, Header
from carob.model.trace import REMOVED, Trace
from carob.model.verdict import ACCEPTED, CheckResult, RuleTimeline, Status
from carob.reports.case_details import NO_TIMELINE, timelines_of
from carob.reports.escaping import clip
from carob.reports.html.calls import MOST_ROOM, CallView, TextRoom, call_views, json_words
from carob.reports.html.evidence import SCREENSHOT, EvidencePlaces, ScreenView, TurnView, screen_view
from carob.reports.html.markup import difference, escape_text, has_useful_difference, prose
from carob.reports.html.story import MOST_CALLS
from carob.reports.suite_lines import CaseSource, SuiteLines
from carob.scoring.figures import cost_words

MOST_CHECKS: Final = 500
MOST_FILES: Final = 50
MOST_LINES: Final = 400
LONGEST: Final = 1_500

Address = Callable[[str], str | None]
"""Where a file of the run can be seen, or None if it cannot."""


class CheckView(Struct, frozen=True):
    """One check: how it came out, what it wanted and found, and the anchor of its evidence."""

    result: CheckResult
    number: int
    label: str
    expected: str
    found: str
    diff: str
    evidence: str
    timeline: RuleTimeline = NO_TIMELINE


class FileView(Struct, frozen=True):
    """A file of the run; `source` is where its picture is."""

    name: str
    file: str
    source: str
    link: str
    screen: ScreenView | None = None
    """What can be lit on it, if it is the screenshot."""


class UnobservedView(Struct, frozen=True):
    """What was not observed of a case, for one reason."""

    what: str
    why: str


class ExpectationLine(Struct, frozen=True):
    """A line of a suite, with its number if it is of the file, and the checks that it asks for."""

    number: int | None
    html: str
    checks: list[CheckView]


class ExpectationsView(Struct, frozen=True):
    """What a case asks for: its lines in the suite, then checks that are not in them."""

    file: str
    """The suite, if it is the one that was run; else nothing, and all checks are as the journal holds them."""
    lines: list[ExpectationLine]
    others: list[ExpectationLine]
    lines_left_out: int = 0


class CaseView(Struct, frozen=True):
    """A record with everything that its page shows of it."""

    record: CaseRecord
    anchor: str
    broken: list[CheckView]
    passed: list[CheckView]
    not_triggered: list[CheckView]
    """Rules that nothing in the conversation triggered: neither a pass nor a failure."""
    setup_calls: list[CallView]
    turns: list[TurnView]
    unobserved: list[UnobservedView]
    expectations: ExpectationsView | None
    """None on a page that is kept short: all of its checks are next to its transcript."""
    cost: str
    attachments: list[FileView]
    command: str
    address: str = ""
    """The address of the whole record, if there is one."""

    @property
    def calls(self) -> list[CallView]:
        """All calls that the transcript shows."""
        return [part.call for turn in self.turns for part in turn.parts if part.call]

    @property
    def checks_left_out(self) -> int:
        return len(self.record.verdict.checks) - self.checks_shown

    @property
    def checks_shown(self) -> int:
        return len(self.broken) + len(self.passed) + len(self.not_triggered)


def anchor_of(index: int, repeat: int) -> str:
    """The name of a case on a page, from which those of its checks and their evidence begin."""
    return f"c{index}r{repeat}"


class CaseSetting(Struct, frozen=True):
    """What the pages of the cases of one run share. Without `lines` a page is kept short: it is but a transcript."""

    header: Header
    catalog: CheckCatalog
    prices: TokenPrices | None
    lines: SuiteLines | None
    room: TextRoom = msgspec.field(default_factory=lambda: TextRoom(MOST_ROOM))


def case_view(record: CaseRecord, setting: CaseSetting, address: Address, at: str = "") -> CaseView:
    """The page of a record. `address`: where its files can be seen; `at`: where the whole record is."""
    trace, case = record.trace, record.case
    anchor = anchor_of(record.index, record.repeat)
    checks = record.verdict.checks[:MOST_CHECKS]
    pages = EvidencePlaces(trace, checks, anchor, setting.catalog, setting.room)
    turns = [pages.turn(number, turn) for number, turn in enumerate(trace.turns or (trace,))]
    unobserved = Unobserved(trace)
    timelines = timelines_of(record)
    views = [
        structs.replace(
            _check(record, number, result, pages, unobserved), timeline=timelines.get(result.rule_id, NO_TIMELINE)
        )
        for number, result in enumerate(checks)
    ]
    failing = [view for view in views if view.result.status not in ACCEPTED]
    expectations = None
    if setting.lines:
        expectations = expectations_view(record, views, setting.header.suite, setting.lines.find(case.id))
    return CaseView(
        record=record,
        anchor=anchor,
        broken=sorted(failing, key=lambda view: view.result.status != Status.FAILED),
        passed=[view for view in views if view.result.status == Status.PASSED],
        not_triggered=[view for view in views if view.result.status == Status.NOT_TRIGGERED],
        setup_calls=call_views(trace, trace.setup_calls[:MOST_CALLS], 0, setting.room),
        turns=turns,
        unobserved=unobserved.views(),
        expectations=expectations,
        cost=cost_words(trace_spent(trace), setting.prices),
        attachments=_attachments(trace, checks, address),
        command=command(setting.header, case.id),
        address=at,
    )


def trace_spent(trace: Trace) -> Spent:
    return count_spent(trace.tokens, trace.metadata.get(COST))


MOST_SOURCES: Final = 5


def clip_long(text: str) -> str:
    return clip(text, LONGEST)


def command(header: Header, case_id: str) -> str:
    """What runs this case again; what is secret is not known here. A recorded conversation is judged again."""
    recorded = header.options.get(RECORDED_CHECK)
    if isinstance(recorded, dict):
        if recorded.get("watch"):
            return shlex.join(["carob", "watch", "--rules", header.suite])
        sources = [str(source) for source in recorded.get("sources", ())][:MOST_SOURCES]
        return shlex.join(["carob", "check", *sources, "--rules", header.suite])
    options = header.options.get("overrides")
    words = ["carob", "run", header.suite, "--target", header.target, "--cases", case_id]
    for key, value in options.items() if isinstance(options, dict) else ():
        pair = f"{key}={value if isinstance(value, str) else json.dumps(value)}"
        words += [] if REMOVED in pair else ["-o", pair]
    return shlex.join(words)


def _check(
    record: CaseRecord, number: int, result: CheckResult, pages: EvidencePlaces, unobserved: Unobserved
) -> CheckView:
    expected, observed = clip_long(result.expected), clip_long(result.found)
    mention = pages.mention(result)
    differs = (
        result.status != Status.PASSED
        and mention is None
        and not pages.forbids(result)
        and has_useful_difference(expected, observed)
    )
    missed = unobserved.find(result.found) if result.status == Status.UNKNOWN else ""
    anchor = anchor_of(record.index, record.repeat)
    html = prose(observed)
    if missed:
        html = f'not observed: <a href="#{anchor}-unobserved">{escape_text(missed)}</a>'
    elif mention:
        words = observed[mention.start : mention.end] + (f" of turn {result.turn}" if result.turn else "")
        link = f'<a href="#{anchor}-call{mention.number}">{escape_text(words)}</a>'
        html = escape_text(observed[: mention.start]) + link + escape_text(observed[mention.end :])
    return CheckView(
        result=result,
        number=number,
        label=label(record, number),
        expected=prose(expected),
        found=html,
        diff=difference(expected, observed) if differs else "",
        evidence=pages.anchor_for(number),
    )


def _attachments(trace: Trace, checks: Sequence[CheckResult], address: Address) -> list[FileView]:
    """The files of a record, the screenshot with what can be lit on it."""
    screen = screen_view(trace, checks)
    files = []
    for name, file in list(trace.attachments.items())[:MOST_FILES]:
        link = address(file) or ""
        picture = link if link.startswith("data:") else ""
        files.append(FileView(name, file, picture, link, screen if name == SCREENSHOT else None))
    return files


def expectations_view(
    record: CaseRecord, checks: Sequence[CheckView], suite: str, source: CaseSource | None
) -> ExpectationsView:
    """The expectations of a record. `checks`: those that the page shows."""
    if source is None:
        return ExpectationsView("", [], list(_recorded_lines(record, checks)))
    by_line: dict[int | None, list[CheckView]] = defaultdict(list)
    specs = record.case.all_checks
    for check in checks:
        turn, spec = specs[check.number] if check.number < len(specs) else (None, None)
        by_line[source.checks.get((turn, spec.path)) if spec else None].append(check)
    lines = [
        ExpectationLine(line, escape_text(text), by_line.pop(line, []))
        for line, text in enumerate(source.lines[:MOST_LINES], source.first)
    ]
    elsewhere = sorted((check for checks in by_line.values() for check in checks), key=lambda check: check.number)
    left_out = max(len(source.lines) - MOST_LINES, 0)
    return ExpectationsView(suite, lines, list(_recorded_lines(record, elsewhere)), left_out)


def _recorded_lines(record: CaseRecord, checks: Iterable[CheckView]) -> Iterator[ExpectationLine]:
    """Checks as the journal holds them: their path and their arguments."""
    specs = record.case.all_checks
    for check in checks:
        turn, spec = specs[check.number] if check.number < len(specs) else (None, None)
        name = check.label if turn is None else f"turn {turn}: {check.label}"
        is_same = spec and spec.name == record.verdict.checks[check.number].name
        arguments = json_words(msgspec.json.decode(spec.args)) if spec and is_same else ""
        text = f"{name}: {clip_long(arguments)}" if arguments else name
        yield ExpectationLine(None, escape_text(text), [check])


class Unobserved:
    """The reasons why channels of a trace, of its turns and of its calls were not observed."""

    def __init__(self, trace: Trace) -> None:
        self._turns = trace.turns
        self._channels: dict[str, dict[str, list[int]]] = {}
        for turn, channel, why in _reasons(trace):
            turns = self._channels.setdefault(why, {}).setdefault(channel.replace("_", " "), [])
            if turn is not None and turn not in turns:
                turns.append(turn)

    def find(self, why: str) -> str:
        """What was not observed for this reason, or nothing if it is not one of them."""
        return ", ".join(self._channels.get(why, ()))

    def views(self) -> list[UnobservedView]:
        return [
            UnobservedView(clip_long(", ".join(map(self._words, turns, turns.values()))), clip_long(why))
            for why, turns in self._channels.items()
        ]

    def _words(self, channel: str, turns: list[int]) -> str:
        """`tools`, or `tools in turn 2` where other turns observed it."""
        if not turns or len(turns) == len(self._turns):
            return channel
        return f"{channel} in turn{'s' * (len(turns) > 1)} {', '.join(map(str, turns))}"


def _reasons(trace: Trace) -> Iterator[tuple[int | None, str, str]]:
    for number, turn in enumerate(trace.turns, 1):
        yield from ((number, channel, why) for channel, why in turn.unobserved.items())
    in_turns = {(channel, why) for turn in trace.turns for channel, why in turn.unobserved.items()}
    yield from ((None, channel, why) for channel, why in trace.unobserved.items() if (channel, why) not in in_turns)
    for call in trace.tool_calls[:MOST_CALLS]:
        yield from ((None, f"{part} of {call.name}", why) for part, why in call.unobserved.items())
