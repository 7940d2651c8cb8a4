"""Known secrets out of a record, before anything is written.

Every string is looked at, keys included. Removed are the configured values, also escaped or encoded, the values of
authorization and cookie headers, bearer tokens, and the user info of URLs. A channel that lost something is marked as
cut, so that the absence of a removed text is not taken for a pass; so is a case, whose expectations are then no longer
those of its suite.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from itertools import accumulate
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, structs

from karat.errors import ConfigError
from karat.model.run import CaseRecord
from karat.model.suite import Case
from karat.model.trace import OF_CASE, REMOVED, SECRETS_REMOVED, Message, TextLoss, ToolCall, Trace, TraceError
from karat.model.verdict import CheckResult, EvidenceLocation
from karat.text.clean import loads
from karat.text.encodings import SHORTEST, SecretSearch
from karat.text.regexes import lazy

BLOT = "\0"
"""What a secret is covered with to see where the rest of a text goes once it is out."""
CUT_OFF = "…"
"""How the evidence of a check ends where it is only the beginning of a text."""
EVIDENCE = 160

Kept = TypeVar("Kept")

# Repeats are bounded wherever a hostile text could make the search begin again at each of its characters.
_QUOTED = r"""(?P<open> \\{0,8} (?P<quote>["']) ) (?: (?! \\{0,8} (?P=quote) ) . )*"""
_PATTERNS = (
    lazy.pattern(
        rf"""(?ix) \b (?P<keep> (?:proxy-)? authorization \\{{0,8}} ["']? \s{{0,8}} [:=] \s{{0,8}} )
        (?: {_QUOTED}
        | (?: basic | bearer | token | negotiate | ntlm ) [ \t]+ [^\s"',;<>]+
        | (?: digest | hawk | [a-z0-9]{{1,20}} -hmac- [a-z0-9]{{1,20}} ) [ \t]+ [^\r\n]+
        | [^\s"',;<>]+ )"""
    ),
    lazy.pattern(
        rf"""(?ix) \b (?P<keep> (?:set-)? cookie \\{{0,8}} ["']? \s{{0,8}} [:=] \s{{0,8}} )
        (?: {_QUOTED}
        | [^\s=;,"'<>]{{1,64}} = [^\r\n"'<>]* )"""
    ),
    lazy.pattern(r"(?i)\b(?P<keep>bearer\s{1,8})(?=\S{0,64}\d|\S{20})[a-z0-9._~+/=-]{6,}"),
    lazy.pattern(r"""(?i)(?P<keep>\b[a-z][a-z0-9+.-]{0,20}://)[^\s/?#"'<>\\]+(?=@)"""),
)
_TORN_URL = lazy.pattern(r"""(?i)(?P<keep>\b[a-z][a-z0-9+.-]{0,20}://)[^\s/?#"'<>\\@]+\Z""")
_BLOTS = re.compile(f"{BLOT}+")
_HEADER_NAMES = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie"})


class Redactor:
    """Takes secrets out of texts, traces and records. Finding nothing, the usual case, costs a few byte searches."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        known = {value for value in values if value}
        self._values = SecretSearch(sorted(known))
        self._has_values = bool(known)

    @classmethod
    def from_names(cls, names: Iterable[str], environ: Mapping[str, str], values: Iterable[str] = ()) -> Redactor:
        """A redactor for the values of environment variables; those that are not set have nothing to hide."""
        found = list(values)
        for name in names:
            value = environ.get(name, "")
            if value and len(value) < SHORTEST:
                raise ConfigError(
                    f"the secret {name} has fewer than {SHORTEST} characters: it would match plain text.",
                    fix="Unset it, or take it out of `secrets`.",
                )
            found.append(value)
        return cls(value for value in found if value)

    def finds(self, encoded: bytes) -> bool:
        """Whether a record, as JSON, may hold a secret. One that was cut off may hold the beginning of one."""
        if self._values.may_hold(encoded):
            return True
        linked = b"://" in encoded
        if (linked or self._has_values) and (b'"cuts":' in encoded or CUT_OFF.encode() in encoded):
            return True
        low = encoded.lower()
        if b"authorization" in low or b"cookie" in low or b"bearer" in low:
            return True
        return linked and b"@" in encoded

    def text(self, value: str) -> str:
        """The text without its secrets."""
        value = self._replace_values(value, lambda secret: REMOVED)
        if self._has_values and CUT_OFF in value:
            *cut, last = value.split(CUT_OFF)
            value = CUT_OFF.join((*map(self._redact_torn_value, cut), last))
        for known in _PATTERNS:
            value = known.sub(_keep, value)
        return value

    def redact_torn(self, value: str) -> str:
        """A text that was cut off, without the beginning of a secret at its end."""
        return _TORN_URL.sub(_keep, self._redact_torn_value(value))

    def message(self, value: str) -> str:
        """What is reported of a fault, which may quote a text that was cut off, in the middle or at its end."""
        *cut, last = self.text(value).split(CUT_OFF)
        return CUT_OFF.join((*map(self.redact_torn, cut), self._redact_torn_value(last)))

    def _redact_torn_value(self, value: str) -> str:
        data = value.encode(errors="surrogatepass")
        at = self._values.find_torn(data)
        return value if at is None else data[:at].decode(errors="surrogatepass") + REMOVED

    def _replace_values(self, value: str, replacement: Callable[[str], str]) -> str:
        """The text with each known value replaced."""
        if not self._has_values:
            return value
        data = value.encode(errors="surrogatepass")
        pieces: list[str] = []
        last = 0
        for first, end in self._values.spans(data):
            kept, secret = (data[slice(*span)].decode(errors="surrogatepass") for span in ((last, first), (first, end)))
            pieces += (kept, replacement(secret))
            last = end
        return "".join((*pieces, data[last:].decode(errors="surrogatepass"))) if last else value

    def json(self, value: object) -> object:
        """A JSON value without its secrets."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self._entry(key, item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.json(item) for item in value]
        return value

    def redact_record(self, value: Kept) -> Kept:
        """A record of any kind without its secrets: each of its strings, keys included, whatever holds them."""
        cleaned: Kept = self._redact_any(value)
        return cleaned

    def _redact_any(self, value: Any) -> Any:
        if isinstance(value, Enum):
            return value
        if isinstance(value, TraceError):
            return structs.replace(
                self._fields(value), message=self.message(value.message), detail=self.message(value.detail)
            )
        if isinstance(value, Struct):
            return self._fields(value)
        if isinstance(value, msgspec.Raw):
            held = msgspec.json.decode(value)
            cleaned = self.json(held)
            return value if cleaned == held else msgspec.Raw(msgspec.json.encode(cleaned))
        if isinstance(value, tuple):
            return tuple([self._redact_any(item) for item in value])
        if isinstance(value, dict):
            return {self._redact_any(key): self._entry(key, item) for key, item in value.items()}
        return self.json(value)

    def _fields(self, value: Any) -> Any:
        return type(value)(**{name: self._redact_any(getattr(value, name)) for name in value.__struct_fields__})

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
            trace = structs.replace(trace, cuts={**trace.cuts, OF_CASE: TextLoss(SECRETS_REMOVED)})
        pairs = zip((record.trace, *record.trace.turns), (trace, *trace.turns), strict=True)
        places = {turn: self._moves(old, new) for turn, (old, new) in enumerate(pairs)}
        checks = tuple([self._result(check, places.get(check.turn or 0, {})) for check in record.verdict.checks])
        verdict = self.redact_record(structs.replace(record.verdict, checks=checks))
        attempts = tuple(map(self.trace, record.attempts))
        return structs.replace(record, case=case, trace=trace, verdict=verdict, attempts=attempts)

    def case(self, case: Case) -> Case:
        """The case without its secrets."""
        return self.redact_record(case)

    def trace(self, trace: Trace) -> Trace:
        """The trace without its secrets, and with the channels that lost some marked as cut."""
        ends = _ends(trace)
        cleaned = self.redact_record(structs.replace(trace, telemetry=(), cuts={}, turns=()))
        cleaned = structs.replace(
            cleaned,
            final_message=self._end(cleaned.final_message, "final_message" in ends),
            messages=self._last_message(cleaned.messages, "messages" in ends),
            tool_calls=self._last_calls(cleaned.tool_calls, "tool_results" in ends),
            telemetry=self._lines(trace.telemetry, "telemetry" in ends),
            page=cleaned.page and self._end(cleaned.page, "page" in ends),
            page_before=cleaned.page_before and self._end(cleaned.page_before, "page_before" in ends),
            answer_page=cleaned.answer_page and self._end(cleaned.answer_page, "answer_page" in ends),
            turns=tuple(map(self.trace, trace.turns)),
        )
        return structs.replace(cleaned, cuts={**trace.cuts, **_find_losses(trace, cleaned)})

    def _moves(self, old: Trace, new: Trace) -> dict[str, _Places]:
        """The new positions of the pieces of texts that lost a secret."""
        return {
            name: _Places(self._mask(text), getattr(new, name))
            for name in ("final_message", "page", "page_before")
            if (text := getattr(old, name)) != getattr(new, name)
        }

    def _end(self, value: str, torn: bool) -> str:
        return self.redact_torn(value) if torn else value

    def _last_message(self, messages: tuple[Message, ...], torn: bool) -> tuple[Message, ...]:
        if not (torn and messages):
            return messages
        return (*messages[:-1], structs.replace(messages[-1], content=self.redact_torn(messages[-1].content)))

    def _lines(self, lines: tuple[str, ...], torn: bool) -> tuple[str, ...]:
        cleaned = tuple(map(self.line, lines))
        return (*cleaned[:-1], self.redact_torn(cleaned[-1])) if torn and cleaned else cleaned

    def _last_calls(self, calls: tuple[ToolCall, ...], torn: bool) -> tuple[ToolCall, ...]:
        """The last result that is there is the one that was cut; of the calls after it, the errors were."""
        if not torn:
            return calls
        last = max((index for index, call in enumerate(calls) if call.result is not None), default=0)
        return (*calls[:last], *map(self._cut_call, calls[last:]))

    def _cut_call(self, call: ToolCall) -> ToolCall:
        result = self.redact_torn(call.result) if isinstance(call.result, str) else call.result
        return structs.replace(call, result=result, error=call.error and self.redact_torn(call.error))

    def _result(self, check: CheckResult, places: Mapping[str, _Places]) -> CheckResult:
        """A result whose evidence shows no secret, nor a part of one, with its location adjusted."""
        found, at = self._redact_evidence(check.found), check.at
        if at is not None and at.start is not None and at.end is not None and at.channel in places:
            place = places[at.channel]
            span = place.span(at.start, at.end)
            at = EvidenceLocation(at.channel, *span) if span else EvidenceLocation(at.channel)
            found = place.find_text(span, found) if span else REMOVED
        return structs.replace(check, found=found, expected=self._redact_evidence(check.expected), at=at)

    def _mask(self, value: str) -> str:
        """The text with each secret blotted out, all else in its place."""
        value = self._replace_values(value, lambda secret: BLOT * len(secret))
        for known in _PATTERNS:
            value = known.sub(_blot, value)
        return value

    def _redact_evidence(self, text: str) -> str:
        """Evidence, which may be cut off within a secret."""
        if not text.endswith(CUT_OFF):
            return self.text(text)
        return self.redact_torn(self.text(text.removesuffix(CUT_OFF))) + CUT_OFF

    def _entry(self, key: str, value: object) -> object:
        """The value of a header in a JSON object is a secret as a whole."""
        return REMOVED if value and key.lower() in _HEADER_NAMES else self._redact_any(value)


class _Places:
    """The positions of the pieces of a text after its secrets were removed."""

    def __init__(self, masked: str, new: str) -> None:
        blots = [blot.span() for blot in _BLOTS.finditer(masked)]
        self._starts, self._ends = [first for first, _ in blots], [last for _, last in blots]
        self._shifts = [0, *accumulate(len(REMOVED) - (last - first) for first, last in blots)]
        self._cleaned = _BLOTS.sub(REMOVED, masked)
        self._new = new

    def span(self, start: int, end: int) -> tuple[int, int] | None:
        """The place of a piece; None if it begins or ends within a secret."""
        first, last = self._move(start), self._move(end)
        if first is None or last is None or not self._new.startswith(self._cleaned[:last]):
            return None
        return first, last

    def find_text(self, span: tuple[int, int], found: str) -> str:
        """What was found there. A header without its name cannot be recognised, but its position is known."""
        piece = self._new[slice(*span)]
        if REMOVED not in piece or found.removesuffix(CUT_OFF) in (line := " ".join(piece.split())):
            return found
        return line[:EVIDENCE]

    def _move(self, offset: int) -> int | None:
        before = bisect_left(self._starts, offset)
        if before and self._ends[before - 1] > offset:
            return None
        return offset + self._shifts[before]


_MARKED = ("final_message", "messages", "telemetry", "page", "page_before", "answer_page", "database", "state")
"""The channels that are cut where they lost a secret."""


def _find_losses(before: Trace, after: Trace) -> dict[str, TextLoss]:
    """The cuts of what lost a secret. Tool names and successes outlive a removed result."""
    names = [name for name in _MARKED if getattr(before, name) != getattr(after, name)]
    if before.tool_calls != after.tool_calls:
        names.append("tool_results")
    calls = [([call.name for call in trace.tool_calls], trace.possible_calls) for trace in (before, after)]
    if calls[0] != calls[1]:
        names.append("tools")
    return {name: _mark_loss(before.cuts.get(name)) for name in names}


def _mark_loss(cut: TextLoss | None) -> TextLoss:
    return TextLoss(_add_reason(cut.why), cut.size) if cut else TextLoss(SECRETS_REMOVED)


def _ends(trace: Trace) -> set[str]:
    """The channels of which only the beginning was kept."""
    return {name for name, cut in trace.cuts.items() if cut.why != SECRETS_REMOVED}


def _add_reason(why: str) -> str:
    return why if SECRETS_REMOVED in why else f"{why}; {SECRETS_REMOVED}"


def _keep(match: re.Match[str]) -> str:
    return f"{match['keep']}{match.groupdict().get('open') or ''}{REMOVED}"


def _blot(match: re.Match[str]) -> str:
    kept = f"{match['keep']}{match.groupdict().get('open') or ''}"
    return kept + BLOT * (len(match[0]) - len(kept))
