"""Known secrets out of a record, before anything is written.

Every string is looked at, keys included. Removed are the configured values, also escaped or encoded, the values of
authorization and cookie headers, bearer tokens, and the user info of URLs. A channel that lost something is marked as
cut, so that the absence of a removed text is not taken for a pass; so is a case, whose expectations are then no longer
those of its suite.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, structs

from carob.errors import ConfigError
from carob.model.trace import OF_CASE, REMOVED, SECRETS_REMOVED, TextLoss, ToolCall, Trace, TraceError
from carob.model.verdict import CheckResult, EvidenceLocation
from carob.redaction.key_names import secrets_of_environ
from carob.redaction.walking import TextChanger
from carob.text.clean import loads
from carob.text.encodings import SHORTEST, SecretSearch, merge_spans
from carob.text.regexes import lazy

if TYPE_CHECKING:  # hooks of coding agents redact, and know no cases
    from carob.model.run import CaseRecord

BLOT = "\0"
"""What a secret is covered with, to see where all else of a text goes once it is out."""
CUT_OFF = "…"
"""How the evidence of a check ends where it is only the beginning of a text."""
EVIDENCE = 160

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
_BLOTS = lazy.pattern(f"{BLOT}+")
TORN = 4_096
"""A value of which only the beginning is there has no longer one."""
_NUMBER_PRECEDES, _NUMBER_FOLLOWS = lazy.pattern(rb"[:\[,]\s{0,7}\Z"), lazy.pattern(rb"\s{0,8}[,\]}]")
_HEADER_NAMES = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie"})


class Redactor(TextChanger):
    """Takes secrets out of texts, traces and records. Finding nothing, the usual case, costs a few byte searches."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values = frozenset(value for value in values if value)
        self._search = SecretSearch(sorted(self._values))

    @classmethod
    def from_names(cls, names: Iterable[str], environ: Mapping[str, str], values: Iterable[str] = ()) -> Redactor:
        """A redactor for the values of environment variables; those that are not set have nothing to hide."""
        secrets = list(values)
        for name in names:
            value = environ.get(name, "")
            if value and len(value) < SHORTEST:
                raise ConfigError(
                    f"the secret {name} has fewer than {SHORTEST} characters: it would match plain text.",
                    fix="Unset it, or take it out of `secrets`.",
                )
            secrets.append(value)
        return cls(secrets)

    @classmethod
    def for_environ(cls, environ: Mapping[str, str]) -> Redactor:
        """A redactor for the variables whose names say that they hold a secret, where no configuration names them."""
        return cls(secrets_of_environ(environ))

    def finds(self, encoded: bytes) -> bool:
        """Whether a record, as JSON, may hold a secret. One that was cut off may hold the beginning of one."""
        if self._search.may_hold(encoded):
            return True
        linked = b"://" in encoded
        if (linked or self._values) and (b'"cuts":' in encoded or CUT_OFF.encode() in encoded):
            return True
        low = encoded.lower()
        if b"authorization" in low or b"cookie" in low or b"bearer" in low:
            return True
        return linked and b"@" in encoded

    def text(self, value: str) -> str:
        """The text without its secrets."""
        value = self.without_values(value)
        for pattern in _PATTERNS:
            value = pattern.sub(_remove, value)
        return value

    def without_values(self, value: str) -> str:
        """The text without the configured values alone: what a person wrote may be about headers."""
        value = self._replace_values(value, lambda secret: REMOVED)
        if self._values and CUT_OFF in value:
            *cut, last = value.split(CUT_OFF)
            value = CUT_OFF.join((*map(self._redact_torn_value, cut), last))
        return value

    def find_secrets(self, data: bytes) -> list[tuple[int, int]]:
        """Where secrets are in bytes of any kind, in order and without overlaps."""
        text = data.decode("latin-1")  # a character for each byte
        spans = self._search.spans(data)
        for pattern in _PATTERNS:
            for match in pattern.finditer(text):
                opening = match.groupdict().get("open") or ""
                spans.append((match.end("keep") + len(opening), match.end()))
        return merge_spans(spans)

    def has_value(self, data: bytes) -> bool:
        """Whether a configured value is in bytes of any kind."""
        return bool(self._search.spans(data))

    def find_named(self, data: bytes) -> list[tuple[int, int]]:
        """Where configured values are in what is about to be written, those that were cut off included."""
        spans = self._search.spans(data) if self._search.may_hold(data) else []
        at = -1
        while (at := data.find(CUT_OFF.encode(), at + 1)) >= 0:
            start = max(0, at - TORN)
            if (torn := self._search.find_torn(data[start:at])) is not None:
                spans.append((start + torn, at))
        return merge_spans(span for span in spans if not _is_part_of_number(data, *span))

    @staticmethod
    def replacement(data: bytes, start: int, end: int) -> bytes:
        """What is written in the place of a value: in JSON, a number becomes a text."""
        is_number = data[start:end].isdigit() and _NUMBER_FOLLOWS.match(data, end) is not None
        is_bare = is_number and _NUMBER_PRECEDES.search(data, max(0, start - 8), start) is not None
        return f'"{REMOVED}"'.encode() if is_bare else REMOVED.encode()

    def data(self, value: bytes) -> bytes:
        """Bytes of any kind without their secrets."""
        end, pieces = 0, list[bytes]()
        for start, stop in self.find_secrets(value):
            pieces += (value[end:start], REMOVED.encode())
            end = stop
        return b"".join((*pieces, value[end:]))

    def message(self, value: str) -> str:
        """What is reported of a fault, which may quote a text that was cut off, in the middle or at its end."""
        *cut, last = self.text(value).split(CUT_OFF)
        return CUT_OFF.join((*map(self._redact_torn, cut), self._redact_torn_value(last)))

    def number(self, value: float) -> object:
        """A secret may be a number."""
        return REMOVED if str(value) in self._values else value

    def entry(self, key: object, value: object) -> object:
        """The value of a header in a JSON object is a secret as a whole."""
        return REMOVED if value and isinstance(key, str) and key.lower() in _HEADER_NAMES else self._walk(value)

    def fields(self, value: Struct) -> dict[str, object]:
        """The fields of a record; an error may quote a text that was cut off."""
        fields = super().fields(value)
        if isinstance(value, TraceError):
            fields |= {"message": self.message(value.message), "detail": self.message(value.detail)}
        return fields

    def record(self, record: CaseRecord) -> CaseRecord:
        """The record without its secrets: in the case, the trace and the evidence."""
        case, trace = self.redact(record.case), self.trace(record.trace)
        if case != record.case:
            trace = structs.replace(trace, cuts={**trace.cuts, OF_CASE: TextLoss(SECRETS_REMOVED)})
        pairs = zip((record.trace, *record.trace.turns), (trace, *trace.turns), strict=True)
        turns = {turn: self._changed_texts(old, new) for turn, (old, new) in enumerate(pairs)}
        checks = tuple([self._result(check, turns.get(check.turn or 0, {})) for check in record.verdict.checks])
        verdict = self.redact(structs.replace(record.verdict, checks=checks))
        attempts = tuple(map(self.trace, record.attempts))
        return structs.replace(record, case=case, trace=trace, verdict=verdict, attempts=attempts)

    def trace(self, trace: Trace) -> Trace:
        """The trace without its secrets, and with the channels that lost some marked as cut."""
        if not self.finds(msgspec.json.encode(trace)):
            return trace
        cleaned = self.redact(structs.replace(trace, telemetry=(), cuts={}, turns=()))
        cleaned = structs.replace(
            cleaned, telemetry=tuple(map(self._line, trace.telemetry)), turns=tuple(map(self.trace, trace.turns))
        )
        cut = {name for name, loss in trace.cuts.items() if loss.why != SECRETS_REMOVED}
        cleaned = self._redact_ends(cleaned, cut)
        return structs.replace(cleaned, cuts={**trace.cuts, **_find_losses(trace, cleaned)})

    def _line(self, line: str) -> str:
        """A telemetry line without its secrets. An event stays one: its strings are cleaned inside their quotes."""
        if not self.finds(msgspec.json.encode(line)):
            return line
        try:
            value = loads(line)
        except ValueError:
            return self.text(line)
        cleaned = self._walk(value)
        return line if cleaned == value else msgspec.json.encode(cleaned).decode()

    def _redact_ends(self, trace: Trace, cut: Container[str]) -> Trace:
        """The trace without the beginnings of secrets at the ends of channels of which only the beginning was kept."""
        ends: dict[str, Any] = {
            name: self._redact_torn(text)
            for name in ("final_message", "page", "page_before", "answer_page")
            if name in cut and (text := getattr(trace, name))
        }
        if "messages" in cut and trace.messages:
            *messages, message = trace.messages
            ends["messages"] = (*messages, structs.replace(message, content=self._redact_torn(message.content)))
        if "telemetry" in cut and trace.telemetry:
            *lines, line = trace.telemetry
            ends["telemetry"] = (*lines, self._redact_torn(line))
        if "tool_results" in cut:
            calls = trace.tool_calls
            # The last result that is there is the one that was cut; of the calls after it, the errors were.
            last = max((index for index, call in enumerate(calls) if call.result is not None), default=0)
            ends["tool_calls"] = (*calls[:last], *map(self._redact_call_end, calls[last:]))
        return structs.replace(trace, **ends)

    def _redact_call_end(self, call: ToolCall) -> ToolCall:
        result = self._redact_torn(call.result) if isinstance(call.result, str) else call.result
        return structs.replace(call, result=result, error=call.error and self._redact_torn(call.error))

    def _changed_texts(self, old: Trace, new: Trace) -> dict[str, tuple[str, str]]:
        """The texts that lost a secret: with each secret blotted out and all else in its place, and as they are now."""
        return {
            name: (self._blot_out(text), getattr(new, name))
            for name in ("final_message", "page", "page_before")
            if (text := getattr(old, name)) != getattr(new, name)
        }

    def _blot_out(self, value: str) -> str:
        value = self._replace_values(value, lambda secret: BLOT * len(secret))
        for pattern in _PATTERNS:
            value = pattern.sub(_blot, value)
        return value

    def _result(self, check: CheckResult, texts: Mapping[str, tuple[str, str]]) -> CheckResult:
        """A result whose evidence shows no secret, nor a part of one, with its location adjusted."""
        evidence, at = self._redact_evidence(check.found), check.at
        if at is not None and at.start is not None and at.end is not None and at.channel in texts:
            masked, text = texts[at.channel]
            span = _move_span(masked, text, at.start, at.end)
            at = EvidenceLocation(at.channel, *span) if span else EvidenceLocation(at.channel)
            evidence = _evidence_at(text[slice(*span)], evidence) if span else REMOVED
        return structs.replace(check, found=evidence, expected=self._redact_evidence(check.expected), at=at)

    def _redact_evidence(self, text: str) -> str:
        """Evidence, which may be cut off within a secret."""
        if not text.endswith(CUT_OFF):
            return self.text(text)
        return self._redact_torn(self.text(text.removesuffix(CUT_OFF))) + CUT_OFF

    def _redact_torn(self, value: str) -> str:
        """A text that was cut off, without the beginning of a secret at its end."""
        return _TORN_URL.sub(_remove, self._redact_torn_value(value))

    def _redact_torn_value(self, value: str) -> str:
        data = value.encode(errors="surrogatepass")
        at = self._search.find_torn(data)
        return value if at is None else data[:at].decode(errors="surrogatepass") + REMOVED

    def _replace_values(self, value: str, replacement: Callable[[str], str]) -> str:
        """The text with each configured value replaced."""
        if not self._values:
            return value
        data = self._search.replace(
            value.encode(errors="surrogatepass"),
            lambda secret: replacement(secret.decode(errors="surrogatepass")).encode(),
        )
        return data.decode(errors="surrogatepass")


def _is_part_of_number(data: bytes, start: int, end: int) -> bool:
    """Whether digits are part of a longer number, which is not a secret."""
    around = data[start - 1 : start] + data[end : end + 1]
    return data[start:end].isdigit() and any(byte in b"0123456789." for byte in around)


def _move_span(masked: str, text: str, start: int, end: int) -> tuple[int, int] | None:
    """The span of a piece after secrets were removed; None if it begins or ends within one, or cannot be known."""
    if any(masked[max(at - 1, 0) : at + 1] == BLOT * 2 for at in (start, end)):
        return None
    before, through = (_BLOTS.sub(REMOVED, masked[:at]) for at in (start, end))
    return (len(before), len(through)) if text.startswith(through) else None


def _evidence_at(piece: str, evidence: str) -> str:
    """What was found there. A header without its name cannot be recognised, but its position is known."""
    if REMOVED not in piece or evidence.removesuffix(CUT_OFF) in (line := " ".join(piece.split())):
        return evidence
    return line[:EVIDENCE]


_MARKED = ("final_message", "messages", "telemetry", "page", "page_before", "answer_page", "database", "state")
"""The channels that are cut where they lost a secret."""


def _find_losses(before: Trace, after: Trace) -> dict[str, TextLoss]:
    """The cuts of what lost a secret. Tool names and successes outlive a removed result."""
    names = [name for name in _MARKED if getattr(before, name) != getattr(after, name)]
    if before.tool_calls != after.tool_calls:
        names.append("tool_results")
    if before.workspace != after.workspace:
        names += ["files", "processes"]
    calls = [([call.name for call in trace.tool_calls], trace.possible_calls) for trace in (before, after)]
    if calls[0] != calls[1]:
        names.append("tools")
    return {name: _add_loss(before.cuts.get(name)) for name in names}


def _add_loss(cut: TextLoss | None) -> TextLoss:
    if cut is None:
        return TextLoss(SECRETS_REMOVED)
    return TextLoss(cut.why if SECRETS_REMOVED in cut.why else f"{cut.why}; {SECRETS_REMOVED}", cut.size)


def _remove(match: re.Match[str]) -> str:
    return f"{match['keep']}{match.groupdict().get('open') or ''}{REMOVED}"


def _blot(match: re.Match[str]) -> str:
    prefix = f"{match['keep']}{match.groupdict().get('open') or ''}"
    return prefix + BLOT * (len(match[0]) - len(prefix))
