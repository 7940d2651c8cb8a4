"""What the pages of a case are made of, ready for the templates: texts that are HTML already say so."""

from __future__ import annotations

from dataclasses import dataclass

from karat.reports.html.calls import CallView, TimeBar
from karat.reports.html.screen import ScreenView


@dataclass(frozen=True, slots=True)
class CheckView:
    """One check: how it came out, what it wanted and found, and the anchor of its evidence."""

    number: int
    label: str
    group: str
    status: str
    expected: str
    found: str
    diff: str
    evidence: str
    where: str
    turn: int | None


@dataclass(frozen=True, slots=True)
class MessageView:
    """One message; `answer`: it is the one that is judged."""

    role: str
    name: str
    html: str
    answer: bool = False
    written: str = ""
    """The text as written, where reading it as Markdown hides evidence."""
    checks: str = ""


@dataclass(frozen=True, slots=True)
class TranscriptPart:
    """One thing that happened: what was said, what was called, or a step of the model."""

    message: MessageView | None = None
    call: CallView | None = None
    step: SpanView | None = None


@dataclass(frozen=True, slots=True)
class LineView:
    """A line of telemetry, or of another list."""

    number: int
    html: str
    checks: str = ""
    status: str = ""
    anchors: str = ""


@dataclass(frozen=True, slots=True)
class SpanView:
    """A span of the agent's own telemetry."""

    name: str
    kind: str
    depth: int
    took: str
    bar: TimeBar | None
    about: str
    error: str


@dataclass(frozen=True, slots=True)
class FileView:
    """A file of the run; `source` is where its picture is."""

    name: str
    file: str
    source: str
    link: str
    screen: ScreenView | None = None
    """What can be lit on it, if it is the screenshot."""


@dataclass(frozen=True, slots=True)
class TurnView:
    """One prompt and everything that followed, in order."""

    number: int | None
    answer: str
    parts: list[TranscriptPart]
    loose: bool
    """Whether it is not known between which calls the agent said what it said on the way."""
    calls: int
    calls_left_out: int
    telemetry: list[LineView]
    lines_left_out: int
    spans: list[SpanView]
    page: str
    page_before: str
    took: str


@dataclass(frozen=True, slots=True)
class UnobservedView:
    """What was not observed of a case, for one reason."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class ExpectationLine:
    """A line of a suite, with its number if it is of the file, and the checks that it asks for."""

    number: int | None
    html: str
    checks: list[CheckView]


@dataclass(frozen=True, slots=True)
class ExpectationsView:
    """What a case asks for: its lines in the suite, then checks that are not in them."""

    file: str
    """The suite, if it is the one that was run; else nothing, and all checks are as the journal holds them."""
    lines: list[ExpectationLine]
    others: list[ExpectationLine]
    lines_left_out: int = 0


@dataclass(frozen=True, slots=True)
class CaseView:
    """Everything that the page of a case shows."""

    anchor: str
    id: str
    index: int
    repeat: int
    status: str
    category: str
    tags: tuple[str, ...]
    reasons: list[str]
    log: list[str]
    broken: list[CheckView]
    passed: list[CheckView]
    checks_left_out: int
    setup: list[str]
    setup_calls: list[CallView]
    turns: list[TurnView]
    unobserved: list[UnobservedView]
    expectations: ExpectationsView | None
    """None on a page that is kept short: all of its checks are next to its transcript."""
    groups: dict[str, tuple[int, int]]
    soft: str
    took: str
    tokens: str
    cost: str
    attempts: list[str]
    preconditions: tuple[str, ...]
    attachments: list[FileView]
    more: dict[str, str]
    command: str
    record: str = ""
    """The address of the whole record, if there is one."""

    @property
    def calls(self) -> list[CallView]:
        """All calls that the transcript shows."""
        return [part.call for turn in self.turns for part in turn.parts if part.call]
