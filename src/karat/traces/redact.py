"""Known secrets out of a record, before anything is written.

Removed are the configured values, also in their URL- and JSON-escaped forms, the values of authorization and cookie
headers, bearer tokens, and the user info of URLs. A channel that lost something is marked as cut, so that nobody
takes the absence of a removed text for a pass; so is a case, whose expectations are then no longer those of its suite.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Any
from urllib.parse import quote, quote_plus

import msgspec
from msgspec import structs

from karat.errors import ConfigError
from karat.model.run import CaseRecord
from karat.model.suite import Case, CheckSpec
from karat.model.trace import OF_CASE, REMOVED, SECRETS_REMOVED, Cut, Message, ToolCall, Trace, TraceError
from karat.model.verdict import At, CheckResult
from karat.traces.clean import loads

SHORTEST = 4
BLOT = "\0"
"""What a secret is covered with to see where the rest of a text goes once it is out."""
CUT_OFF = "…"
"""How the evidence of a check ends where it is only the beginning of a text."""
EVIDENCE = 160

# Repeats are bounded wherever a hostile text could make the search begin again at each of its characters.
_QUOTED = r"""(?P<open> \\{0,8} (?P<quote>["']) ) (?: (?! \\{0,8} (?P=quote) ) . )*"""
_PATTERNS = (
    re.compile(
        rf"""(?ix) \b (?P<keep> (?:proxy-)? authorization \\{{0,8}} ["']? \s{{0,8}} [:=] \s{{0,8}} )
        (?: {_QUOTED}
        | (?: basic | bearer | token | negotiate | ntlm ) [ \t]+ [^\s"',;<>]+
        | (?: digest | hawk | [a-z0-9]{{1,20}} -hmac- [a-z0-9]{{1,20}} ) [ \t]+ [^\r\n]+
        | [^\s"',;<>]+ )"""
    ),
    re.compile(
        rf"""(?ix) \b (?P<keep> (?:set-)? cookie \\{{0,8}} ["']? \s{{0,8}} [:=] \s{{0,8}} )
        (?: {_QUOTED}
        | [^\s=;,"'<>]{{1,64}} = [^\r\n"'<>]* )"""
    ),
    re.compile(r"(?i)\b(?P<keep>bearer\s{1,8})(?=\S{0,64}\d|\S{20})[a-z0-9._~+/=-]{6,}"),
    re.compile(r"""(?i)(?P<keep>\b[a-z][a-z0-9+.-]{0,20}://)[^\s/?#"'<>\\]+(?=@)"""),
)
_TORN_URL = re.compile(r"""(?i)(?P<keep>\b[a-z][a-z0-9+.-]{0,20}://)[^\s/?#"'<>\\@]+\Z""")
_BLOTS = re.compile(f"{BLOT}+")
_HEADER_NAMES = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie"})


class Redactor:
    """Takes secrets out of texts, traces and records. Finding nothing, which is the rule, costs a few byte searches."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        forms = {form for value in values if value for form in _forms(value)}
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._values = re.compile("|".join(map(re.escape, longest_first))) if forms else None
        self._forms = longest_first
        self._needles = tuple({msgspec.json.encode(form)[1:-1] for form in forms})

    @classmethod
    def from_names(cls, names: Iterable[str], environ: Mapping[str, str], values: Iterable[str] = ()) -> Redactor:
        """A redactor for the values of environment variables; those that are not set have nothing to hide."""
        found = list(values)
        for name in names:
            value = environ.get(name, "")
            if value and len(value) < SHORTEST:
                raise ConfigError(
                    f"the secret {name} has fewer than {SHORTEST} characters: it cannot be told from plain text.",
                    fix="Unset it, or take it out of `secrets`.",
                )
            found.append(value)
        return cls(value for value in found if value)

    def finds(self, encoded: bytes) -> bool:
        """Whether a record, as JSON, may hold a secret. One that was cut off may hold the beginning of one."""
        if any(needle in encoded for needle in self._needles):
            return True
        linked = b"://" in encoded
        if (linked or self._needles) and b'"cuts":' in encoded:
            return True
        low = encoded.lower()
        if b"authorization" in low or b"cookie" in low or b"bearer" in low:
            return True
        return linked and b"@" in encoded

    def text(self, value: str) -> str:
        """The text without its secrets."""
        if self._values is not None:
            value = self._values.sub(REMOVED, value)
        for pattern in _PATTERNS:
            value = pattern.sub(_keep, value)
        return value

    def torn(self, value: str) -> str:
        """A text that was cut off, without the beginning of a secret at its end."""
        for form in self._forms:
            for length in range(min(len(form) - 1, len(value)), SHORTEST - 1, -1):
                if value.endswith(form[:length]):
                    return value[:-length] + REMOVED
        return _TORN_URL.sub(_keep, value)

    def json(self, value: Any) -> Any:
        """A JSON value without its secrets."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self._entry(key, item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.json(item) for item in value]
        return value

    def line(self, line: str) -> str:
        """A telemetry line without its secrets. An event stays one: its strings are cleaned inside their quotes."""
        if not self.finds(msgspec.json.encode(line)):
            return line
        try:
            value = loads(line)
        except ValueError:
            return self.text(line)
        cleaned = self.json(value)
        return line if cleaned == value else msgspec.json.encode(cleaned).decode()

    def record(self, record: CaseRecord) -> CaseRecord:
        """The record without its secrets: in the case, the trace and the evidence."""
        case, trace = self.case(record.case), self.trace(record.trace)
        if case != record.case:
            trace = structs.replace(trace, cuts={**trace.cuts, OF_CASE: Cut(SECRETS_REMOVED)})
        places = {
            name: _Places(self._masked(old), new)
            for name in ("final_message", "page", "page_before")
            if (old := getattr(record.trace, name)) != (new := getattr(trace, name))
        }
        checks = tuple([self._result(check, places) for check in record.verdict.checks])
        verdict = structs.replace(record.verdict, checks=checks, reason=self.text(record.verdict.reason))
        return structs.replace(record, case=case, trace=trace, verdict=verdict)

    def case(self, case: Case) -> Case:
        """The case without its secrets. Its id and category are names, and stay."""
        return structs.replace(
            case,
            prompt=self.text(case.prompt),
            setup_prompts=tuple(map(self.text, case.setup_prompts)),
            preconditions=tuple(map(self.text, case.preconditions)),
            checks=tuple(map(self._spec, case.checks)),
            metadata=self.json(case.metadata),
        )

    def trace(self, trace: Trace) -> Trace:
        """The trace without its secrets, and with the channels that lost some marked as cut."""
        cuts = dict(trace.cuts)
        ends = _ends(trace)
        parts: dict[str, Any] = {
            "final_message": self._text(trace.final_message, "final_message" in ends),
            "messages": self._messages(trace.messages, "messages" in ends),
            "tool_calls": self._calls(trace.tool_calls, "tool_results" in ends),
            "telemetry": self._lines(trace.telemetry, "telemetry" in ends),
            "page": trace.page and self._text(trace.page, "page" in ends),
            "page_before": trace.page_before and self._text(trace.page_before, "page_before" in ends),
            "database": self.json(trace.database),
        }
        for name, value in parts.items():
            if value != getattr(trace, name):
                for channel in _channels(name, trace.tool_calls, parts["tool_calls"]):
                    before = cuts.get(channel)
                    cuts[channel] = Cut(_also(before.why), before.size) if before else Cut(SECRETS_REMOVED)
        return structs.replace(
            trace,
            **parts,
            input=self.text(trace.input),
            unobserved=self.json(trace.unobserved),
            attachments=self.json(trace.attachments),
            metadata=self.json(trace.metadata),
            error=self.error(trace.error),
            cuts=cuts,
        )

    def error(self, error: TraceError | None) -> TraceError | None:
        return error and structs.replace(error, message=self.text(error.message), detail=self.text(error.detail))

    def _text(self, value: str, torn: bool) -> str:
        return self.torn(self.text(value)) if torn else self.text(value)

    def _messages(self, messages: tuple[Message, ...], torn: bool) -> tuple[Message, ...]:
        last = len(messages) - 1
        return tuple(
            [
                Message(m.role, self._text(m.content, torn and index == last), m.name and self.text(m.name))
                for index, m in enumerate(messages)
            ]
        )

    def _lines(self, lines: tuple[str, ...], torn: bool) -> tuple[str, ...]:
        cleaned = tuple(map(self.line, lines))
        return (*cleaned[:-1], self.torn(cleaned[-1])) if torn and cleaned else cleaned

    def _calls(self, calls: tuple[ToolCall, ...], torn: bool) -> tuple[ToolCall, ...]:
        """The last result that is there is the one that was cut; of the calls behind it, the errors were."""
        last = max((index for index, call in enumerate(calls) if call.result is not None), default=0)
        return tuple([self._call(call, torn and index >= last) for index, call in enumerate(calls)])

    def _call(self, call: ToolCall, torn: bool) -> ToolCall:
        result = self._text(call.result, torn) if isinstance(call.result, str) else self.json(call.result)
        return structs.replace(
            call,
            name=self.text(call.name),
            id=call.id and self.text(call.id),
            arguments=self.json(call.arguments),
            result=result,
            error=None if call.error is None else self._text(call.error, torn),
            missing_fields=tuple(map(self.text, call.missing_fields)),
        )

    def _spec(self, spec: CheckSpec) -> CheckSpec:
        if not self.finds(msgspec.json.encode(spec)):
            return spec
        args = msgspec.json.decode(spec.args)
        cleaned = self.json(args)
        kept = spec.args if cleaned == args else msgspec.Raw(msgspec.json.encode(cleaned))
        return CheckSpec(spec.name, kept, self.text(spec.path))

    def _result(self, check: CheckResult, places: Mapping[str, _Places]) -> CheckResult:
        """A result whose evidence shows no secret, nor a part of one, and stands where it says."""
        found, at = self._shown(check.found), check.at
        if at is not None and at.start is not None and at.end is not None and at.channel in places:
            place = places[at.channel]
            span = place.span(at.start, at.end)
            at = At(at.channel, *span) if span else At(at.channel)
            found = place.shown(span, found) if span else REMOVED
        return structs.replace(check, found=found, expected=self._shown(check.expected), at=at)

    def _masked(self, value: str) -> str:
        """The text with each secret blotted out, all else in its place."""
        if self._values is not None:
            value = self._values.sub(lambda m: BLOT * len(m[0]), value)
        for pattern in _PATTERNS:
            value = pattern.sub(_blotted, value)
        return value

    def _shown(self, text: str) -> str:
        """Evidence, which may be cut off within a secret."""
        if not text.endswith(CUT_OFF):
            return self.text(text)
        return self._text(text.removesuffix(CUT_OFF), torn=True) + CUT_OFF

    def _entry(self, key: str, value: Any) -> Any:
        """The value of a header that stands in a JSON object is a secret as a whole."""
        return REMOVED if value and key.lower() in _HEADER_NAMES else self.json(value)


class _Places:
    """Where the pieces of a text stand once its secrets are out."""

    def __init__(self, masked: str, new: str) -> None:
        blots = [blot.span() for blot in _BLOTS.finditer(masked)]
        self._starts, self._ends = [first for first, _ in blots], [last for _, last in blots]
        self._shifts = [0, *accumulate(len(REMOVED) - (last - first) for first, last in blots)]
        self._cleaned = _BLOTS.sub(REMOVED, masked)
        self._new = new

    def span(self, start: int, end: int) -> tuple[int, int] | None:
        """The place of a piece; None if it begins or ends within a secret."""
        first, last = self._moved(start), self._moved(end)
        if first is None or last is None or not self._new.startswith(self._cleaned[:last]):
            return None
        return first, last

    def shown(self, span: tuple[int, int], found: str) -> str:
        """What was found there. Of a header without its name nobody sees that it is one, but its place is known."""
        piece = self._new[slice(*span)]
        if REMOVED not in piece or found.removesuffix(CUT_OFF) in (line := " ".join(piece.split())):
            return found
        return line[:EVIDENCE]

    def _moved(self, offset: int) -> int | None:
        before = bisect_left(self._starts, offset)
        if before and self._ends[before - 1] > offset:
            return None
        return offset + self._shifts[before]


def _channels(part: str, before: tuple[ToolCall, ...], after: tuple[ToolCall, ...]) -> tuple[str, ...]:
    """The channels that a changed part of a trace stands for. Tool names and successes outlive a removed result."""
    if part != "tool_calls":
        return (part,)
    renamed = any(old.name != new.name for old, new in zip(before, after, strict=True))
    return ("tool_results", "tools") if renamed else ("tool_results",)


def _ends(trace: Trace) -> set[str]:
    """The channels of which only the beginning was kept."""
    return {name for name, cut in trace.cuts.items() if cut.why != SECRETS_REMOVED}


def _also(why: str) -> str:
    return why if SECRETS_REMOVED in why else f"{why}; {SECRETS_REMOVED}"


def _keep(match: re.Match[str]) -> str:
    return f"{match['keep']}{match.groupdict().get('open') or ''}{REMOVED}"


def _blotted(match: re.Match[str]) -> str:
    kept = f"{match['keep']}{match.groupdict().get('open') or ''}"
    return kept + BLOT * (len(match[0]) - len(kept))


def _forms(value: str) -> set[str]:
    """A value as it is, as URLs and JSON texts spell it, and as the evidence of checks does: quoted, on one line."""
    spelled = {value, quote(value, safe=""), quote(value), quote_plus(value)}
    spelled |= {re.sub("%[0-9A-F]{2}", lambda m: m[0].lower(), form) for form in spelled}
    spelled |= {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    spelled |= {repr(value)[1:-1], repr(f"\"'{value}")[4:-1]}
    return spelled | {line for form in spelled if len(line := " ".join(form.split())) >= SHORTEST}
