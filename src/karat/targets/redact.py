"""Known secrets out of a record, before anything is written.

Removed are the configured values, also in their URL- and JSON-escaped forms, the values of authorization and cookie
headers, bearer tokens, and the user info of URLs. A channel that lost something is marked as cut, so that nobody
takes the absence of a removed text for a pass; so is a case, whose expectations are then no longer those of its suite.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

import msgspec
from msgspec import structs

from karat.errors import ConfigError
from karat.model.run import CaseRecord
from karat.model.suite import Case, CheckSpec
from karat.model.trace import OF_CASE, REMOVED, SECRETS_REMOVED, Cut, Message, ToolCall, Trace, TraceError
from karat.model.verdict import CheckResult
from karat.targets.clean import loads

SHORTEST = 4

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
        if any(needle in encoded for needle in self._needles) or (self._needles and b'"cuts":' in encoded):
            return True
        low = encoded.lower()
        if b"authorization" in low or b"cookie" in low or b"bearer" in low:
            return True
        return b"@" in low and b"://" in low

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
        return value

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
        checks = tuple([self._result(check) for check in record.verdict.checks])
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
        parts: dict[str, Any] = {
            "final_message": self.text(trace.final_message),
            "messages": tuple(
                Message(m.role, self.text(m.content), m.name and self.text(m.name)) for m in trace.messages
            ),
            "tool_calls": tuple(map(self._call, trace.tool_calls)),
            "telemetry": tuple(map(self.line, trace.telemetry)),
            "page": trace.page and self.text(trace.page),
            "page_before": trace.page_before and self.text(trace.page_before),
            "database": self.json(trace.database),
        }
        for name in ("final_message", "page", "page_before"):
            if name in trace.cuts and parts[name]:
                parts[name] = self.torn(parts[name])
        cuts = dict(trace.cuts)
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
        return error and TraceError(error.kind, self.text(error.message), self.text(error.detail))

    def _call(self, call: ToolCall) -> ToolCall:
        return structs.replace(
            call,
            name=self.text(call.name),
            id=call.id and self.text(call.id),
            arguments=self.json(call.arguments),
            result=self.json(call.result),
            error=None if call.error is None else self.text(call.error),
        )

    def _spec(self, spec: CheckSpec) -> CheckSpec:
        if not self.finds(msgspec.json.encode(spec)):
            return spec
        args = msgspec.json.decode(spec.args)
        cleaned = self.json(args)
        kept = spec.args if cleaned == args else msgspec.Raw(msgspec.json.encode(cleaned))
        return CheckSpec(spec.name, kept, self.text(spec.path))

    def _result(self, check: CheckResult) -> CheckResult:
        return structs.replace(check, found=self.text(check.found), expected=self.text(check.expected))

    def _entry(self, key: str, value: Any) -> Any:
        """The value of a header that stands in a JSON object is a secret as a whole."""
        return REMOVED if value and key.lower() in _HEADER_NAMES else self.json(value)


def _channels(part: str, before: tuple[ToolCall, ...], after: tuple[ToolCall, ...]) -> tuple[str, ...]:
    """The channels that a changed part of a trace stands for. Tool names and successes outlive a removed result."""
    if part != "tool_calls":
        return (part,)
    renamed = any(old.name != new.name for old, new in zip(before, after, strict=True))
    return ("tool_results", "tools") if renamed else ("tool_results",)


def redact_text(value: str) -> str:
    """The text without headers, tokens and user info: what needs no configuration to be known for a secret."""
    return _PLAIN.text(value)


def _also(why: str) -> str:
    return why if SECRETS_REMOVED in why else f"{why}; {SECRETS_REMOVED}"


def _keep(match: re.Match[str]) -> str:
    return f"{match['keep']}{match.groupdict().get('open') or ''}{REMOVED}"


def _forms(value: str) -> set[str]:
    """A value as it is, and as URLs and JSON texts spell it."""
    spelled = {value, quote(value, safe=""), quote(value), quote_plus(value)}
    spelled |= {re.sub("%[0-9A-F]{2}", lambda m: m[0].lower(), form) for form in spelled}
    return spelled | {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}


_PLAIN = Redactor()
