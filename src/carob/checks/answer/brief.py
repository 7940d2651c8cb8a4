"""The contract of a Morning Brief: levers, claims with evidence, fresh evidence, ways to override."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct

from carob.checks import base
from carob.checks.answer.nodes import find_in_answer
from carob.checks.page.snapshot import UNSURE, offers
from carob.checks.sample_traces import says, shows
from carob.model.check import CheckProblem, Example, Field
from carob.model.trace import LIKE_PROMPT, THE_PROMPT, Trace
from carob.model.verdict import CheckResult, EvidenceLocation, Group, Status
from carob.text.ages.stated import ages_by, doubtful_ages, stated_ages
from carob.text.folding import Span
from carob.text.prose.sentences import first_free, is_unavailable, prose
from carob.text.words import WordLists

LEVER = r"^[^\S\n]*(?:[-*+•]|[0-9]+[.)])[^\S\n]+.*\w.*"
CLAIM = r"\b(?:today.?s\s+mission|mission|recommendation)s?\b"
EVIDENCE = r"\b(?:evidence|source|observed|metric)s?\b"
ALIGNMENT = r"\b(?:because|based\s+on|backed\s+by|driven\s+by)\b"

_BULLET = re.compile(r"\s*(?:[-*+•]|[0-9]+[.)])\s+")
_WORDS = re.compile(r"\w+")

ALIGNED = "Today's mission: fix checkout, because the metric fell."


class _BriefCheck(base.Check):
    """A part of the contract of a brief."""

    __slots__ = ()
    group: ClassVar = Group.MORNING_BRIEF_CONTRACT
    channels: ClassVar = base.ANSWER_NODES
    metric: ClassVar = "brief"


class RequiredLevers(_BriefCheck, Struct, frozen=True):
    """The lever regex is found at least that many times, on lines that differ."""

    name: ClassVar = "required_levers"
    description_format: ClassVar = "at least {self.count} × /{self.regex}/"
    field: ClassVar = base.own_field(
        Annotated[int, Meta(ge=1)], "The answer offers at least this many actions (levers).", since="0.3"
    )
    more_fields: ClassVar = (
        Field(
            "lever_regex",
            base.Phrase,
            "What an action looks like; by default a line that begins with -, *, +, •, 1. or 1).",
            since="0.3",
        ),
    )
    examples: ClassVar = (
        Example({"count": 2}, says("Levers\n- roll back\n2. page the owner"), Status.PASSED),
        Example({"count": 2}, says("Levers\n- roll back"), Status.FAILED),
        Example({"count": 2}, says("Levers\n1. roll back\n2. roll back"), Status.FAILED),
        Example({"count": 2}, says("Levers\n• scale to 2\n+ scale to 3"), Status.PASSED),
        Example({"count": 1, "regex": "lever:"}, says("- roll back"), Status.FAILED),
        Example(
            {"count": 2, "regex": r"^\s*-\s*listitem:"},
            says(
                "roll back\npage the owner",
                answer_page="- list:\n  - listitem: roll back\n  - listitem: page the owner",
            ),
            Status.PASSED,
        ),
        Example(
            {"count": 1, "regex": r"^\s*-\s*listitem:"},
            says("roll back", page="- listitem: roll back", answer_page="- paragraph: roll back"),
            Status.FAILED,
        ),
        Example(
            {"count": 2, "regex": r"^\s*-\s*listitem:\s*.+"},
            says("## Levers\n\n1. **Roll back** the deploy\n2. Page the owner\n"),
            Status.PASSED,
        ),
        Example({"count": 2, "regex": r"^\s*-\s*listitem:"}, says("- roll back\n\nPage the owner."), Status.FAILED),
    )
    count: int
    regex: str = LEVER

    read = base.read_with("count", regex=("lever_regex", LEVER))

    def validate(self) -> Iterator[CheckProblem]:
        return base.regex_problems(self.regex)

    def judge(self, trace: Trace) -> CheckResult:
        spans = _on_different_lines(find_in_answer(self.regex, trace))[: self.count]
        why = base.unsure(trace, spans)
        if len(spans) >= self.count and not why:
            return self.passed(f"{len(spans)}", EvidenceLocation("final_message", spans[0][0], spans[-1][1]))
        return self.failed_unless(why or base.unreadable(trace) or trace.cut("answer_page"), f"{len(spans)}")


def _on_different_lines(matches: list[tuple[str, Span]]) -> list[Span]:
    """The first match of each line: a number or a bullet in front of it makes no difference, digits in it do."""
    first: dict[str, Span] = {}
    for line, span in matches:
        content = _BULLET.sub("", line, count=1) if _BULLET.match(line) else line
        words = " ".join(_WORDS.findall(content.casefold()))
        first.setdefault(words or content, span)
    return list(first.values())


class ClaimEvidenceAlignment(_BriefCheck, Struct, frozen=True):
    """Claim, evidence and alignment markers are all found."""

    name: ClassVar = "claim_evidence_alignment"
    description: ClassVar = "a claim, its evidence and what links them"
    field: ClassVar = base.own_field(
        Literal[True], "The answer makes a claim, shows evidence and links the two.", since="0.3"
    )
    more_fields: ClassVar = (
        Field("claim_marker_regex", base.Phrase, "What marks a claim.", since="0.3"),
        Field("evidence_marker_regex", base.Phrase, "What marks evidence.", since="0.3"),
        Field("alignment_marker_regex", base.Phrase, "What links a claim to its evidence.", since="0.3"),
    )
    examples: ClassVar = (
        Example({}, says(ALIGNED), Status.PASSED),
        Example({}, says("You have permission, because the metric fell."), Status.FAILED),
        Example({}, says("Today's mission: fix checkout. The metric fell."), Status.FAILED),
        Example({}, says("Today's mission: fix checkout because I say so."), Status.FAILED),
    )
    claim: str = CLAIM
    evidence: str = EVIDENCE
    alignment: str = ALIGNMENT

    read = base.read_with(
        claim=("claim_marker_regex", CLAIM),
        evidence=("evidence_marker_regex", EVIDENCE),
        alignment=("alignment_marker_regex", ALIGNMENT),
    )

    def validate(self) -> Iterator[CheckProblem]:
        for pattern in (self.claim, self.evidence, self.alignment):
            yield from base.regex_problems(pattern)

    def judge(self, trace: Trace) -> CheckResult:
        markers = {"claim": self.claim, "evidence": self.evidence, "alignment": self.alignment}
        matches = {part: find_in_answer(pattern, trace, at_most=1) for part, pattern in markers.items()}
        missing = [part for part, spans in matches.items() if not spans]
        marked = [spans[0][1] for spans in matches.values() if spans]
        why = base.unsure(trace, marked)
        if not missing and not why:
            return self.passed(
                at=EvidenceLocation("final_message", min(s for s, _ in marked), max(e for _, e in marked))
            )
        return self.failed_unless(
            why or base.unreadable(trace) or trace.cut("answer_page"), f"no marker of {' or '.join(missing)}"
        )


class EvidenceFreshness(_BriefCheck, Struct, frozen=True):
    """At least one age is stated, and the oldest is within the bound."""

    name: ClassVar = "evidence_freshness_max_age_minutes"
    description_format: ClassVar = "stated ages of at most {self.minutes:g} minutes"
    channels: ClassVar = base.ANSWER
    field: ClassVar = base.own_field(
        Annotated[int | float, Meta(ge=0)],
        "The answer states the age of its evidence, none older than this many minutes.",
        since="0.3",
    )
    more_fields: ClassVar = (
        Field(
            "evidence_freshness_regex",
            base.Phrase,
            "What an age looks like; the first number of each match is minutes, unless a unit follows it.",
            since="0.3",
        ),
    )
    examples: ClassVar = (
        Example({"minutes": 180}, says("Slack (12m ago), GitHub (2 hours ago)"), Status.PASSED),
        Example({"minutes": 60}, says("Slack (12m ago), GitHub (2 hours ago)"), Status.FAILED),
        Example({"minutes": 60}, says("Slack (12m ago), GitHub (3d stale)"), Status.FAILED),
        Example({"minutes": 60}, says("Slack (12m ago), GitHub (400m sources)"), Status.UNKNOWN),
        Example({"minutes": 60}, says("GitHub (12m sources)"), Status.FAILED),
        Example({"minutes": 60}, says("Slack (12m ago), GitHub data from yesterday"), Status.UNKNOWN),
        Example({"minutes": 60}, says("GitHub (12m ago): 12 commits today, 9 yesterday"), Status.PASSED),
        Example({"minutes": 60}, says("The meeting lasts 30 minutes."), Status.FAILED),
        Example({"minutes": 60}, says("Slack: 12 mentions"), Status.FAILED),
        Example({"minutes": 60, "regex": r"age=\d+"}, says("age=61"), Status.FAILED),
        Example({"minutes": 60, "regex": r"age \d+"}, says("age 5 hours"), Status.FAILED),
        Example({"minutes": 60}, says("The data is more than 30 minutes old."), Status.UNKNOWN),
    )
    minutes: float
    regex: str = ""

    read = base.read_with("minutes", regex=("evidence_freshness_regex", ""))

    def validate(self) -> Iterator[CheckProblem]:
        return base.regex_problems(self.regex) if self.regex else iter(())

    def judge(self, trace: Trace) -> CheckResult:
        text = trace.final_message
        stated = ages_by(self.regex, text) if self.regex else stated_ages(text)
        oldest = max(stated, key=lambda age: age.minutes, default=None)
        if oldest is not None and oldest.minutes > self.minutes:
            return self.failed(f"{oldest.minutes:g} minutes", EvidenceLocation("final_message", *oldest.span))
        if why := base.unreadable(trace):
            return self.unknown(why)
        doubtful = () if self.regex else doubtful_ages(text)
        doubt = max(doubtful, key=lambda age: age.minutes, default=None)
        if doubt is not None and doubt.minutes > self.minutes and (oldest is not None or doubt.in_words):
            stated_age = base.excerpt(text[slice(*doubt.span)])
            return self.unknown(f"{stated_age!r} may be an older age: have the agent write it as a number with a unit")
        if oldest is None:
            return self.failed("no age")
        return self.passed(base.excerpt(text[slice(*oldest.span)]), EvidenceLocation("final_message", *oldest.span))


class MustAllowOverrideAction(_BriefCheck, Struct, frozen=True):
    """The action is offered in the final message or as a control on the page."""

    name: ClassVar = "must_allow_override_actions"
    description_format: ClassVar = "{self.action!r} on offer"
    channels: ClassVar = base.ANSWER | base.PAGE
    field: ClassVar = base.own_field(
        base.Phrases, "Each action is offered in the final message or as a control on the page.", since="0.3"
    )
    examples: ClassVar = (
        Example({"action": "Snooze"}, says("You can snooze this."), Status.PASSED),
        Example({"action": "Snooze"}, shows('- button "Snooze"'), Status.PASSED),
        Example({"action": "Snooze"}, shows('- heading "Snooze"'), Status.FAILED),
        Example({"action": "Snooze"}, shows(f'- link "Snooze it" {THE_PROMPT}'), Status.FAILED),
        Example({"action": "Snooze"}, shows(f'- link "Snooze it" {LIKE_PROMPT}'), Status.UNKNOWN),
        Example({"action": "Snooze"}, says("Done."), Status.FAILED),
        Example({"action": "Snooze"}, says("You cannot snooze this."), Status.FAILED),
        Example({"action": "Snooze"}, says("Done.", unobserved={"page": "the snapshot failed"}), Status.UNKNOWN),
    )
    action: str
    words: dict[str, tuple[str, ...]] = {}

    read = base.read_each("action", "words")

    def validate(self) -> Iterator[CheckProblem]:
        return base.unfailable(self.action)

    def judge(self, trace: Trace) -> CheckResult:
        if trace.page is not None and offers(trace.page, self.action):
            return self.passed("a control on the page", EvidenceLocation("page"))
        answer = prose(trace.final_message, (self.action,))
        span = first_free(answer, answer.places(self.action), is_unavailable, WordLists.of(self.words))
        why = (trace.why_unobserved("page") or trace.cut("page")) if span is None else None
        if span is None and trace.page is not None and offers(trace.page, self.action, LIKE_PROMPT):
            why = UNSURE
        return self.unknown(why) if why else self.present(trace, span, "neither in the message nor on the page")
