"""What a criterion and the evidence for it are, so that the same ones are known again: a sha256 of each."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

from carob.model.trace import SECRETS_REMOVED, Channel, ToolCall, Trace
from carob.text.clean import jsonable

Part = Literal["user", "answer", "calls", "page"]
DEFAULT_PARTS: tuple[Part, ...] = ("user", "answer")
MADE_BY_AGENT: tuple[Part, ...] = ("answer", "calls", "page")
MOST_CHARACTERS = 60_000
_CHANNELS: dict[Part, tuple[Channel, ...]] = {
    "user": ("input", "messages"),
    "answer": ("final_message",),
    "calls": ("tools", "tool_results"),
    "page": ("page",),
}


class SeenEvidence(Struct, frozen=True):
    """What a reader is shown: the same object is hashed, shown to people and sent to a judge."""

    content: dict[str, Any]

    @property
    def data(self) -> bytes:
        return canonical(self.content)

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


def canonical(value: object) -> bytes:
    """Canonical JSON: keys sorted, no spaces, UTF-8, NFC, line ends as `\\n`; nothing else is folded."""
    plain = json.loads(json.dumps(jsonable(value)))
    text = json.dumps(_normalize(plain), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode()


def _normalize(value: Any) -> Any:
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value).replace("\r\n", "\n").replace("\r", "\n")
    if isinstance(value, dict):
        return {_normalize(key): _normalize(item) for key, item in value.items()}
    return [_normalize(item) for item in value] if isinstance(value, list) else value


def one_line(text: str) -> str:
    """A text in NFC with white space as one space."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def criterion_id(text: str) -> str:
    """The identity of a criterion: that of its words, whatever suite it is in."""
    return hashlib.sha256(one_line(text).encode("utf-8", "replace")).hexdigest()


def evidence_of(trace: Trace, sees: Sequence[Part]) -> SeenEvidence | str:
    """What a criterion sees of a trace; why it cannot be judged, where a part was not observed, cut, or is too long."""
    content: dict[str, Any] = {}
    for part in sees:
        for channel in _CHANNELS[part]:
            if why := trace.why_unobserved(channel) or _why_cut(trace, channel):
                return why
        value = _PARTS[part](trace)
        if isinstance(value, _Missing):
            return value.why
        text = value if isinstance(value, str) else canonical(value).decode()
        if (size := sum(map(len, value)) if part == "user" else len(text)) > MOST_CHARACTERS:
            return f"`{part}` has {size:,} characters, and a reader is shown {MOST_CHARACTERS:,} at most"
        content[part] = value
    return SeenEvidence(json.loads(canonical(content)))


def is_quoted(quote: str, evidence: SeenEvidence) -> bool:
    """Whether a quote is in what the agent made, NFC and white space aside."""
    wanted = one_line(quote)
    made = [evidence.content[part] for part in MADE_BY_AGENT if part in evidence.content]
    return bool(wanted) and any(wanted in one_line(text) for value in made for text in texts_of(value))


def texts_of(value: Any) -> list[str]:
    """The texts of a value, each alone, and the whole of it as JSON."""
    if isinstance(value, str):
        return [value]
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [canonical(value).decode(), *(text for member in members for text in texts_of(member))]


class _Missing(Struct):
    why: str


def _why_cut(trace: Trace, channel: Channel) -> str | None:
    """Why a text is not whole. One that only lost secrets is shown as the journal holds it."""
    cut = trace.cuts.get(channel)
    return None if cut is None or cut.why == SECRETS_REMOVED else cut.why


def _user(trace: Trace) -> list[str] | _Missing:
    turns = (*trace.earlier, *(trace.turns or (trace,)))
    said = [*trace.setup_prompts, *(turn.input for turn in turns)]
    return said if any(text.strip() for text in said) else _Missing("no words of the user were observed")


def _calls(trace: Trace) -> list[dict[str, Any]] | _Missing:
    doubts = [doubt.why for doubt in trace.possible_calls]
    doubts += [why for call in trace.tool_calls for why in call.unobserved.values()]
    return _Missing(doubts[0]) if doubts else [_call(call) for call in trace.tool_calls]


def _call(call: ToolCall) -> dict[str, Any]:
    shown = {"name": call.host_name, "arguments": call.arguments, "result": call.result}
    if call.error is not None:
        shown["error"] = call.error
    return shown if call.called else {**shown, "ran": False}


def _page(trace: Trace) -> str | _Missing:
    return _Missing("the agent has no page") if trace.page is None else trace.page


_PARTS: dict[Part, Any] = {"user": _user, "answer": lambda trace: trace.final_message, "calls": _calls, "page": _page}
