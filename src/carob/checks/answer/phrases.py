"""What the final message says and must not say, what it asks for, and which sources and assumptions it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct

from carob.checks import base
from carob.checks.answer.nodes import find_in_markdown
from carob.checks.sample_traces import says
from carob.model.check import CheckProblem, Example, Expected, Field
from carob.model.trace import TextLoss, Trace
from carob.model.verdict import CheckResult, Group, Status
from carob.text import forbidden, phrases
from carob.text.prose.asking import find_request_for
from carob.text.prose.sentences import find_listed, first_free, is_marker_denied, prose
from carob.text.regexes import safe_regex
from carob.text.words import WordLists

CUT_SHORT = says("All good so far", cuts={"final_message": TextLoss("only the first part was kept")})
ORDER = {"things": ["order number"]}


class MustSayAny(base.AnswerCheck, Struct, frozen=True):
    """The final message contains at least one of the phrases, as whole words."""

    name: ClassVar = "must_say_any"
    failure: ClassVar = ("", "did not say ")
    group: ClassVar = Group.FORMATTING
    field: ClassVar = base.own_field(
        base.Phrases,
        "At least one of these phrases is in the final message, as whole words; `*` at an end of a phrase leaves "
        "that end open.",
        since="0.1",
    )
    examples: ClassVar = (
        Example({"phrases": ["refund", "credit"]}, says("Your  REFUND is on its way."), Status.PASSED),
        Example({"phrases": ["refund", "credit"]}, says("Nothing was done."), Status.FAILED),
        Example({"phrases": ["refund"]}, says("<!-- refund -->Nothing was done."), Status.FAILED),
        Example({"phrases": ["paid"]}, says("It is still unpaid."), Status.FAILED),
        Example({"phrases": ["refund*"]}, says("It was refunded."), Status.PASSED),
        Example({"phrases": ["refund"]}, CUT_SHORT, Status.UNKNOWN),
    )
    phrases: tuple[str, ...]

    read = base.read_with("phrases")

    @property
    def description(self) -> str:
        return base.quoted(self.phrases)

    def validate(self) -> Iterator[CheckProblem]:
        return base.blank(self.phrases)

    def judge(self, trace: Trace) -> CheckResult:
        span = phrases.find_any_required(trace.final_message, self.phrases)
        return self.present(trace, span, "" if span else base.quote_without(trace, self.phrases))


class MustNotSay(base.Check, Struct, frozen=True):
    """The final message does not contain the phrase."""

    name: ClassVar = "must_not_say"
    description_format: ClassVar = "no {self.phrase!r}"
    failure: ClassVar = ("no ", "said ")
    forbids: ClassVar = True
    group: ClassVar = Group.FORMATTING
    channels: ClassVar = base.ALL_WORDS
    field: ClassVar = base.own_field(
        base.Phrases, "None of these phrases is in the final message.", since="0.1", in_defaults="add"
    )
    examples: ClassVar[tuple[Example, ...]] = (
        Example({"phrase": "as an AI"}, says("Here is the report."), Status.PASSED),
        Example({"phrase": "as an AI"}, says("As an\nAI, I cannot."), Status.FAILED),
        Example({"phrase": "as an AI"}, says("As an **AI**, I cannot."), Status.FAILED),
        Example({"phrase": "as an AI"}, says("As an \uff21\u200b\u0406, I cannot."), Status.FAILED),
        Example({"phrase": "as an AI"}, CUT_SHORT, Status.UNKNOWN),
        Example({"phrase": "1200"}, says("It costs 1.200."), Status.UNKNOWN),
        Example({"phrase": "1200"}, says("Version 1.200.3 is out, 1.5 times as fast."), Status.PASSED),
    )
    phrase: str

    read = base.read_each("phrase")

    def validate(self) -> Iterator[CheckProblem]:
        return base.unfailable(self.phrase)

    def judge(self, trace: Trace) -> CheckResult:
        text = trace.final_message
        span = forbidden.find_phrase(text, self.phrase)
        if span is None and (grouped := forbidden.find_if_grouped(text, self.phrase)):
            return self.unknown(
                f"{text[slice(*grouped)]!r} may be {self.phrase!r}: write numbers without points as groups"
            )
        return self.absent(trace, span)


class _RegexCheck(base.Check, Struct, frozen=True):
    """A regex for the final message."""

    group: ClassVar = Group.FORMATTING
    pattern: str

    read = base.read_each("pattern")

    def validate(self) -> Iterator[CheckProblem]:
        return base.regex_problems(self.pattern, is_forbidden=self.prohibits)


class MustMatchRegex(_RegexCheck, frozen=True):
    """The regex is found in the final message: letter case is free, `^` and `$` match at every line."""

    name: ClassVar = "must_match_regex"
    description_format: ClassVar = "a match of /{self.pattern}/"
    failure: ClassVar = ("a ", "the answer has no ")
    channels: ClassVar = base.ANSWER
    field: ClassVar = base.own_field(base.Phrases, "Each of these regexes is found in the final message.", since="0.2")
    examples: ClassVar = (
        Example({"pattern": r"^GitHub:\s*[0-9]+"}, says("Signals\ngithub: 12 commits"), Status.PASSED),
        Example({"pattern": r"^GitHub:\s*[0-9]+"}, says("See GitHub: 12 commits"), Status.FAILED),
        Example({"pattern": "total$"}, CUT_SHORT, Status.UNKNOWN),
        Example({"pattern": '- heading "Levers"'}, says("## Levers\n1. Roll back"), Status.PASSED),
        Example({"pattern": r"-\s*listitem: Roll"}, says("## Levers\nRoll back"), Status.FAILED),
    )

    def judge(self, trace: Trace) -> CheckResult:
        span = safe_regex.find_required(self.pattern, trace.final_message)
        if span is None:
            span = next(
                (markdown_span for _, markdown_span in find_in_markdown(self.pattern, trace.final_message)), None
            )
        return self.present(trace, span)


class MustNotMatchRegex(_RegexCheck, frozen=True):
    """The regex is not found in the final message."""

    name: ClassVar = "must_not_match_regex"
    description_format: ClassVar = "no match of /{self.pattern}/"
    failure: ClassVar = ("no ", "the answer has a ")
    forbids: ClassVar = True
    channels: ClassVar = base.ALL_WORDS
    field: ClassVar = base.own_field(
        base.Phrases, "None of these regexes is found in the final message.", since="0.2", in_defaults="add"
    )
    examples: ClassVar = (
        Example({"pattern": "todo|tbd"}, says("All done."), Status.PASSED),
        Example({"pattern": "todo|tbd"}, says("Owner: TBD"), Status.FAILED),
        Example({"pattern": "todo|tbd"}, CUT_SHORT, Status.UNKNOWN),
    )

    def judge(self, trace: Trace) -> CheckResult:
        return self.absent(trace, forbidden.find_regex(trace.final_message, self.pattern))


class AsksFor(base.AnswerCheck, Struct, frozen=True):
    """The answer asks for this, in a question or a request. It is not enough that it names it."""

    name: ClassVar = "asks_for"
    failure: ClassVar = ("asks for ", "did not ask for ")
    group: ClassVar = Group.TOOL_HYGIENE
    field: ClassVar = base.own_field(
        Annotated[list[base.Phrase | base.Phrases], Meta(min_length=1)],
        "The answer asks for each of these; a nested list gives several names for one thing.",
        since="0.3",
    )
    examples: ClassVar = (
        Example(ORDER, says("What is your order number?"), Status.PASSED),
        Example(ORDER, says("Please send me the number of your order."), Status.PASSED),
        Example({"things": ["order id", "order number"]}, says("I need your order number."), Status.PASSED),
        Example(ORDER, says("I need:\n- your name\n- your order number"), Status.PASSED),
        Example(ORDER, says("Your order number is A-17."), Status.FAILED),
        Example(ORDER, says("I do not need your order number. What is your name?"), Status.FAILED),
        Example(ORDER, says("I found your order number. Anything else?"), Status.FAILED),
        Example(ORDER, says("", unobserved={"final_message": "the page moved on"}), Status.UNKNOWN),
    )
    things: tuple[str, ...]
    words: dict[str, tuple[str, ...]] = {}

    @classmethod
    def read(cls, expected: Expected) -> Iterator[base.CheckRequest]:
        for request in base.each("asks_for", "things", expected, "words"):
            things = request.args["things"]
            yield base.CheckRequest(
                {**request.args, "things": [things] if isinstance(things, str) else things}, request.path
            )

    @property
    def description(self) -> str:
        return f"asks for {base.quoted(self.things)}"

    def judge(self, trace: Trace) -> CheckResult:
        return self.present(trace, find_request_for(trace.final_message, self.things, WordLists.of(self.words)))

    def validate(self) -> Iterator[CheckProblem]:
        return base.unfailable(*self.things)


class RequiredSource(base.AnswerCheck, Struct, frozen=True):
    """One of the source's phrases is in the final message as whole words, a plural `s` allowed."""

    name: ClassVar = "required_sources"
    failure: ClassVar = ("", "did not name the source ")
    group: ClassVar = Group.SYNTHESIS_COVERAGE
    metric: ClassVar = "sources"
    fields: ClassVar = (
        Field("required_sources", base.Phrases, "The final message mentions each of these sources.", since="0.2"),
        Field(
            "source_patterns",
            dict[base.Phrase, base.Phrases],
            "Phrases that count as a mention of a source of `required_sources`, instead of its name.",
            since="0.2",
        ),
    )
    examples: ClassVar = (
        Example({"source": "github", "phrases": ["GitHub", "PR"]}, says("3 PRs were merged."), Status.PASSED),
        Example({"source": "github", "phrases": ["GitHub", "PR"]}, says("A new approach."), Status.FAILED),
    )
    source: str
    phrases: tuple[str, ...]

    @classmethod
    def read(cls, expected: Expected) -> Iterator[base.CheckRequest]:
        patterns = expected.get("source_patterns", {})
        for index, source in enumerate(expected.get("required_sources", ())):
            yield base.CheckRequest(
                {"source": source, "phrases": patterns.get(source, [source])}, ("required_sources", index)
            )

    @classmethod
    def unused_fields(cls, expected: Expected) -> Iterator[CheckProblem]:
        for source in expected.get("source_patterns", {}):
            if source not in expected.get("required_sources", ()):
                message = (
                    f"{source!r} is not in required_sources, so its phrases are never used. Leave it out, or add it."
                )
                yield CheckProblem("no-effect", message, ("source_patterns", source))

    @classmethod
    def lack(cls, args: Mapping[str, object]) -> str:
        return str(args.get("source", ""))

    @property
    def description(self) -> str:
        return f"{self.source}: {base.quoted(self.phrases)}"

    def validate(self) -> Iterator[CheckProblem]:
        return base.unfailable(*self.phrases)

    def judge(self, trace: Trace) -> CheckResult:
        span = phrases.find_any_word(trace.final_message, self.phrases)
        return self.present(trace, span, f"no mention of {self.source}")


class MustLabelAssumptions(base.AnswerCheck, Struct, frozen=True):
    """A marker of assumption or uncertainty is in the final message."""

    name: ClassVar = "must_label_assumptions"
    failure: ClassVar = ("", "did not say ")
    group: ClassVar = Group.UNCERTAINTY
    field: ClassVar = base.own_field(
        Literal[True], "The final message names its assumptions or its uncertainty.", since="0.2"
    )
    more_fields: ClassVar = (
        Field(
            "assumption_markers_any",
            base.Phrases,
            "One of these phrases counts as the label, in place of the built-in markers.",
            since="0.2",
        ),
    )
    examples: ClassVar = (
        Example({}, says("Assumption: the sample is small."), Status.PASSED),
        Example({}, says("Without question, all is well."), Status.FAILED),
        Example({}, says("There is no assumption in it."), Status.FAILED),
        Example({"markers": ["ASSUMPTION 1:"]}, says("Assumption 1: one workspace."), Status.PASSED),
        Example({"markers": ["ASSUMPTION 1:"]}, says("Assuming one workspace."), Status.FAILED),
    )
    markers: tuple[str, ...] = ()
    words: dict[str, tuple[str, ...]] = {}

    read = base.read_with("", "words", markers=("assumption_markers_any", []))

    @property
    def description(self) -> str:
        return base.quoted(self.markers) if self.markers else "a marker of assumption or uncertainty"

    def validate(self) -> Iterator[CheckProblem]:
        return base.unfailable(*self.markers)

    def judge(self, trace: Trace) -> CheckResult:
        text, words = trace.final_message, WordLists.of(self.words)
        if not self.markers:
            return self.present(trace, find_listed(text, "assumption", words, is_marker_denied))
        answer = prose(text, self.markers)
        for marker in self.markers:
            span, places = phrases.find(text, marker), answer.places(marker, as_word=False)
            # Markup in a marker is looked for as written, where nothing denies it.
            free = first_free(answer, places, is_marker_denied, words) if places else span
            if span and free:
                return self.present(trace, free)
        return self.present(trace, None)


class _Contains(base.AnswerCheck, Struct, frozen=True):
    """A phrase that must be in the final message."""

    description_format: ClassVar = "{self.phrase!r}"
    failure: ClassVar = ("", "did not say ")

    phrase: str

    read = base.read_each("phrase")

    def validate(self) -> Iterator[CheckProblem]:
        return base.unfailable(self.phrase)

    def judge(self, trace: Trace) -> CheckResult:
        span = phrases.find(trace.final_message, self.phrase)
        return self.present(trace, span, base.quote_without(trace, (self.phrase,)) if span is None else "")


class ReasonContains(_Contains, frozen=True):
    """The phrase is in the final message."""

    name: ClassVar = "reason_contains"
    group: ClassVar = Group.DECISION
    field: ClassVar = base.own_field(base.Phrases, "Each phrase is in the final message.", since="0.1")
    examples: ClassVar = (
        Example({"phrase": "requested window"}, says("Allocated in Requested  Window."), Status.PASSED),
        Example({"phrase": "requested window"}, says("Allocated with backup shift."), Status.FAILED),
    )


class ExpectedContains(_Contains, frozen=True):
    """The phrase is in the final message."""

    name: ClassVar = "expected_contains"
    group: ClassVar = Group.QA
    field: ClassVar = base.own_field(base.Phrases, "Each phrase is in the final message.", since="0.1", in_case=True)
    examples: ClassVar = (
        Example({"phrase": "supported_drives"}, says("It depends on SUPPORTED_DRIVES."), Status.PASSED),
        Example({"phrase": "supported_drives"}, says("It depends."), Status.FAILED),
    )


class MustNotContain(MustNotSay, frozen=True):
    """The phrase is not in the final message."""

    name: ClassVar = "must_not_contain"
    group: ClassVar = Group.QA
    field: ClassVar = base.own_field(
        base.Phrases, "None of these phrases is in the final message.", since="0.1", in_case=True, in_defaults="add"
    )
    examples: ClassVar = (
        Example({"phrase": "guess"}, says("It depends on the drives."), Status.PASSED),
        Example({"phrase": "guess"}, says("My guess is dyno 3."), Status.FAILED),
        Example({"phrase": "guess"}, CUT_SHORT, Status.UNKNOWN),
    )
