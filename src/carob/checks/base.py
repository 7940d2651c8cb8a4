"""What the checks share: spelling in a suite, results with evidence, reading the final message."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta, Struct, structs

from carob.model.check import CheckProblem, CheckSpec, Example, Expected, Field, Metric
from carob.model.trace import OF_CASE, REMOVED, Channel, Trace
from carob.model.verdict import CheckResult, EvidenceLocation, Group, Status
from carob.plugins.project import Project
from carob.text.regexes import safe_regex

EXCERPT = 160
EDGE = 64
"""A match this near to where a text was cut may go on after it: `12.|5`, `12 mil|lion`."""

Phrase = Annotated[str, Meta(min_length=1)]
Phrases = Annotated[list[Phrase], Meta(min_length=1)]

ANSWER: frozenset[Channel] = frozenset({"final_message"})
ANSWER_NODES: frozenset[Channel] = ANSWER | {"answer_page"}
ALL_WORDS: frozenset[Channel] = ANSWER | {"messages"}
CALLS: frozenset[Channel] = frozenset({"tools", "tool_results", "telemetry"})
"""With the log: a line of it that was not understood leaves open what was called."""
PAGE: frozenset[Channel] = frozenset({"page", "page_before"})
NEGATED, GROUP = "$not", "$group"
"""Keys among the arguments of a check: no check has arguments that begin with a dollar sign."""
_OPPOSITE = {Status.PASSED: Status.FAILED, Status.FAILED: Status.PASSED}


class CheckRequest(Struct, frozen=True):
    """One check that `expected` asks for: its arguments, and the place below `expected` that asks for it."""

    args: Mapping[str, object]
    path: tuple[str | int, ...]
    problems: tuple[CheckProblem, ...] = ()


class Check:
    """Base of every check: subclasses are frozen structs or dataclasses whose fields are their JSON arguments.

    `fields` are the keys of `expected` that it reads. A check of one key, which is called as the check, gives it as its
    `field`, and those that only refine it as `more_fields`. `companions` are fields that only refine another. What
    others must know of a check: the `channels` that it looks at (none: it may look at all of them), the `metric` of a
    report that it counts for, and whether it is judged `always`, whatever a case expects.
    """

    name: ClassVar[str]
    group: ClassVar[str]
    fields: ClassVar[tuple[Field, ...]]
    field: ClassVar[Field]
    more_fields: ClassVar[tuple[Field, ...]] = ()
    companions: ClassVar[Mapping[str, str]] = {}
    examples: ClassVar[tuple[Example, ...]] = ()
    channels: ClassVar[frozenset[Channel]] = frozenset()
    metric: ClassVar[Metric | None] = None
    always: ClassVar[bool] = False
    shows: ClassVar[frozenset[Status]] = frozenset({Status.PASSED, Status.FAILED})
    """The statuses that its examples must show."""
    forbids: ClassVar[bool] = False
    """Whether it looks for words that must not be in the final message: also among those that no reader sees."""
    description_format: ClassVar[str]
    """What is expected, with its arguments: `at most {self.most} words`."""
    failure: ClassVar[tuple[str, str]] = ("at most ", "more than ")
    """How its description starts, and what to say instead where it failed: `no ` and `said `."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        key = vars(cls).get("field")
        if isinstance(key, Field):  # an argument may be called so, too
            cls.fields = (structs.replace(key, name=cls.name), *cls.more_fields)
            cls.companions = dict.fromkeys((field.name for field in cls.more_fields), cls.name)

    @classmethod
    def read(cls, expected: Mapping[str, object]) -> Iterator[CheckRequest]:
        """The checks of this class that an `expected` object asks for."""
        raise NotImplementedError

    @classmethod
    def read_in(cls, project: Project, expected: Mapping[str, object]) -> Iterator[CheckRequest]:
        """As `read`, for a check that also needs what the project says, such as its prices."""
        return cls.read(expected)

    @classmethod
    def unused_fields(cls, expected: Mapping[str, object]) -> Iterator[CheckProblem]:
        """Fields of this check that have no effect here; by default companions without the field they refine."""
        for field, refined in cls.companions.items():
            if field in expected and refined not in expected:
                message = f"it only modifies '{refined}', which is not set. Remove it, or add '{refined}'."
                yield CheckProblem("no-effect", message, (field,))

    @classmethod
    def lack(cls, args: Mapping[str, object]) -> str:
        """What an answer lacks for the metric, where a check with these arguments did not pass."""
        return cls.name

    @property
    def description(self) -> str:
        """What is expected, in words."""
        return self.description_format.format(self=self)

    @cached_property
    def _expected(self) -> str:
        """Its description, which is made once: equal checks of many cases are one object."""
        return self.description

    @classmethod
    def describe_failure(cls, expected: str) -> str:
        """What went wrong where it failed, by its description as it was recorded: `did not say 'refund'`."""
        start, instead = cls.failure
        if expected.startswith(start) and not expected.startswith("not: "):
            return instead + expected.removeprefix(start)
        return f"expected {expected}"

    def judge(self, trace: Trace) -> CheckResult:
        raise NotImplementedError

    def validate(self) -> Iterator[CheckProblem]:
        """Why this check as written makes no sense."""
        return iter(())

    @property
    def prohibits(self) -> bool:
        """Whether it says what must not happen, which holds whatever breaks around the agent."""
        return self.forbids

    @property
    def why_always_passes(self) -> str:
        """Why no turn can fail it as it is written; nothing where one can."""
        return ""

    def compared_values(self, trace: Trace) -> tuple[object, object] | None:
        """What was found and what it should equal, where one value is to equal another: for those who show a diff."""
        return None

    def passed(self, found: str = "", at: EvidenceLocation | None = None) -> CheckResult:
        return CheckResult(self.name, self.group, Status.PASSED, self._expected, found, at)

    def failed(self, found: str, at: EvidenceLocation | None = None) -> CheckResult:
        return CheckResult(self.name, self.group, Status.FAILED, self._expected, found, at)

    def unknown(self, why: str) -> CheckResult:
        return CheckResult(self.name, self.group, Status.UNKNOWN, self._expected, why)

    def passed_unless(self, why: str | None, found: str = "", at: EvidenceLocation | None = None) -> CheckResult:
        """Passed; unknown where there is a reason why something may not have been seen."""
        return self.unknown(why) if why else self.passed(found, at)

    def failed_unless(self, why: str | None, found: str, at: EvidenceLocation | None = None) -> CheckResult:
        """Failed; unknown where there is a reason why something may not have been seen."""
        return self.unknown(why) if why else self.failed(found, at)

    def present(self, trace: Trace, span: tuple[int, int] | None, absent: str = "") -> CheckResult:
        """Passed where the text is in the final message; unknown where that message is not whole."""
        if span is not None:
            start, end = span
            if doubt := unsure(trace, [span]) if trace.cuts else None:
                return self.unknown(doubt)
            return self.passed(excerpt(trace.final_message[start:end]), EvidenceLocation("final_message", start, end))
        return self.failed_unless(unreadable(trace), absent or quote_answer(trace))

    def absent(self, trace: Trace, span: tuple[int, int] | None) -> CheckResult:
        """Failed where the text is in the final message; unknown where that message is not whole."""
        if span is not None:
            start, end = span
            if doubt := trace.why_uncertain("final_message", start, end):
                return self.unknown(doubt)
            return self.failed(excerpt(trace.final_message[start:end]), EvidenceLocation("final_message", start, end))
        return self.passed_unless(unreadable(trace))


def own_field(type: object, doc: str, since: str = "1", **how: Any) -> Field:
    """The key of `expected` that is called as its check."""
    return Field("", type, doc, since, **how)


class AnswerCheck(Check):
    """Base of the checks of what a reader sees of the final message."""

    __slots__ = ()
    channels: ClassVar[frozenset[Channel]] = ANSWER


class ToolCheck(Check):
    """Base of the checks of how tools are used, which look at calls alone."""

    __slots__ = ()
    group: ClassVar = Group.TOOL_HYGIENE
    channels: ClassVar[frozenset[Channel]] = CALLS


def out_of_reach(bound: float, far: float, words: str) -> str:
    """Why a bound bounds nothing, where it lies so far out."""
    return f"no turn reaches {words}. Lower it to what a turn really takes." if bound >= far else ""


def unreadable(trace: Trace) -> str | None:
    """Why the final message cannot be relied on to be whole."""
    return trace.why_unobserved("final_message") or trace.cut("final_message")


def unsure(trace: Trace, spans: Iterable[tuple[int, int]]) -> str | None:
    """Why one of these matches in the final message may be none in the whole of it."""
    doubts = (trace.why_uncertain("final_message", start, end, EDGE) for start, end in spans)
    return next((doubt for doubt in doubts if doubt), None)


def has_lost_secret(spec: CheckSpec, trace: Trace) -> bool:
    """Whether the expectation of a recorded check lost a secret, so that it cannot be judged again."""
    return OF_CASE in trace.cuts and REMOVED.encode() in bytes(spec.args)


def quote_answer(trace: Trace) -> str:
    """The final message, short enough for one line of a report."""
    return excerpt(trace.final_message) if trace.final_message.strip() else "an empty final message"


def quote_without(trace: Trace, phrases: Iterable[str]) -> str:
    """The final message that lacks these phrases; why, where one is only a part of another number in it."""
    from carob.text.phrases import longer_number, longer_word  # a process that reads rules looks at no answer

    phrases = [*phrases]
    if near := longer_number(trace.final_message, phrases):
        why = f"{near[0]!r} is only a part of {near[1]!r}, which is another number; write it as the answer does"
    elif near := longer_word(trace.final_message, phrases):
        why = f"{near[0]!r} is only a part of {near[1]!r}; write '*' at an end of the phrase to allow that"
    else:
        return quote_answer(trace)
    return f"{why}: {quote_answer(trace)}"


def excerpt(text: str, limit: int = EXCERPT) -> str:
    """One line of at most `limit` characters."""
    if len(text) <= limit:
        return " ".join(text.split())
    line = " ".join(text[: limit * 4].split())
    return line if len(line) <= limit and len(text) <= limit * 4 else line[: limit - 1] + "…"


def each(field: str, argument: str, expected: Expected, *more: str) -> Iterator[CheckRequest]:
    """One check per entry of a list; `more` are keys of `expected` that each of them takes."""
    shared = {key: expected[key] for key in more if key in expected} if more else {}
    for index, entry in enumerate(expected.get(field) or ()):
        yield CheckRequest({argument: entry, **shared}, (field, index))


def quoted(phrases: Sequence[str]) -> str:
    return " or ".join(repr(p) for p in phrases)


def blank(phrases: Sequence[str], *path: str | int) -> Iterator[CheckProblem]:
    """Phrases that are in every text once white space and invisible characters are left out."""
    from carob.text.folding import fold_phrase

    for index, phrase in enumerate(phrases):
        if not fold_phrase(phrase):
            yield CheckProblem(
                "empty-expectation",
                "a blank phrase is in every answer. Write the words to look for.",
                (*path, index),
            )


def keep_given(expected: Expected, *fields: str) -> dict[str, Any]:
    """Those of the fields that are there."""
    return {field: expected[field] for field in fields if field in expected}


def read_object() -> Any:
    """One check: its field is an object of all arguments."""

    def read(cls: type[Check], expected: Expected) -> Iterator[CheckRequest]:
        if cls.name in expected:
            yield CheckRequest(expected[cls.name], (cls.name,))

    return classmethod(read)


def read_each(argument: str = "", *more: str) -> Any:
    """One check per entry of a list, which is this argument, or without one an object of all arguments."""

    def read(cls: type[Check], expected: Expected) -> Iterator[CheckRequest]:
        if argument:
            return each(cls.name, argument, expected, *more)
        return (CheckRequest(rule, (cls.name, index)) for index, rule in enumerate(expected.get(cls.name) or ()))

    return classmethod(read)


def read_with(argument: str = "", *more: str, **others: tuple[str, object]) -> Any:
    """One check where its field is given, whose value is this argument; without one it is only switched on.

    `others` are arguments that another field gives, else this value; `more` are keys of `expected` that it takes.
    """

    def read(cls: type[Check], expected: Expected) -> Iterator[CheckRequest]:
        if cls.name in expected:
            args = {argument: expected[cls.name]} if argument else {}
            args |= {name: expected.get(field, default) for name, (field, default) in others.items()}
            yield CheckRequest({**args, **keep_given(expected, *more)}, (cls.name,))

    return classmethod(read)


def read_members(key: str, value: str) -> Any:
    """One check per member of an object: its key and its value are these arguments."""

    def read(cls: type[Check], expected: Expected) -> Iterator[CheckRequest]:
        for name, member in expected.get(cls.name, {}).items():
            yield CheckRequest({key: name, value: member}, (cls.name, name))

    return classmethod(read)


def unfailable(*phrases: str) -> Iterator[CheckProblem]:
    """The problems of blank phrases, at the entry itself."""
    return (problem._replace(path=()) for problem in blank(phrases))


def regex_problems(pattern: str, *path: str | int, is_forbidden: bool = False) -> Iterator[CheckProblem]:
    """A regex that does not compile, or that every answer matches; a forbidden one that none can match."""
    try:
        is_empty = safe_regex.matches_empty(pattern)
    except safe_regex.BadPattern as error:
        yield CheckProblem("bad-regex", f"{error}", path)
        return
    if is_empty:
        yield CheckProblem(
            "empty-expectation", "this regex matches the empty string, so it is found in every answer.", path
        )
    elif is_forbidden and _matches_nothing(pattern):
        yield CheckProblem("empty-expectation", "this regex matches no text, so nothing can fail it.", path)


def _matches_nothing(pattern: str) -> bool:
    from carob.text.regexes.impossible import matches_nothing  # few suites forbid a regex

    return matches_nothing(pattern)


class Modifiers(Struct, frozen=True, rename={"negated": NEGATED, "group": GROUP}):
    """What the arguments of a check say of it beyond its own."""

    negated: bool = False
    group: str = ""


_NONE = Modifiers()


class ModifiedCheck(Check, Struct, frozen=True):
    """Another check, which must not hold if it is `negated`."""

    inner: Check
    negated: bool

    @property
    def description(self) -> str:
        return f"not: {self.inner.description}" if self.negated else self.inner.description

    def judge(self, trace: Trace) -> CheckResult:
        result = self.inner.judge(trace)
        status = _OPPOSITE.get(result.status, result.status) if self.negated else result.status
        return structs.replace(result, group=self.group, status=status, expected=self.description)

    def validate(self) -> Iterator[CheckProblem]:
        return self.inner.validate()

    @property
    def prohibits(self) -> bool:
        return self.inner.prohibits is not self.negated

    @property
    def why_always_passes(self) -> str:
        return "" if self.negated else self.inner.why_always_passes


def modify(check: Check, raw: bytes) -> Check:
    """The check as its arguments modify it: most do not."""
    if b'"$' not in raw:
        return check
    modifiers = msgspec.json.decode(raw, type=Modifiers)
    if modifiers == _NONE:
        return check
    forbids = check.forbids and not modifiers.negated
    return _class(check.name, modifiers.group or check.group, check.channels, forbids)(check, modifiers.negated)


@lru_cache(maxsize=1024)
def _class(name: str, group: str, channels: frozenset[Channel], forbids: bool) -> type[ModifiedCheck]:
    attributes = {"name": name, "group": group, "channels": channels, "forbids": forbids, "fields": ()}
    return types.new_class(name, (ModifiedCheck,), {"frozen": True}, exec_body=lambda body: body.update(attributes))


def is_negated(spec: CheckSpec) -> bool:
    raw = bytes(spec.args)
    return b'"$not"' in raw and msgspec.json.decode(raw, type=Modifiers).negated
