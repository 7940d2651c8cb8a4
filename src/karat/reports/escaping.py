"""Agents' text made inert: shown as it is, but unable to steer a terminal or to become markup."""

from __future__ import annotations

import re
from collections.abc import Callable
from textwrap import dedent
from typing import Final
from urllib.parse import quote

from karat.model.trace import Message, Trace
from karat.model.verdict import EvidenceLocation
from karat.text.regexes import lazy

CELL_LIMIT: Final = 200
AROUND: Final = 60
MATCH: Final = 80
LOG_LINES: Final = 5
LOG_LINE: Final = 200
LOG_END: Final = 4_000
LOG_SEARCHED: Final = 64_000
PAGES: Final = ("page", "page_before")

# Everything that moves a cursor, starts an escape sequence, reorders text or cannot be seen: the Unicode categories
# Cc, Cf, Cs, Zl and Zp, then blank letters and selectors that hide text. A test compares the ranges with unicodedata.
_HIDDEN: Final = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_hidden = re.compile(f"[{_HIDDEN}]")
_hidden_in_lines = re.compile("[{}]".format(_HIDDEN.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f")))
# What a job prints is read by its forge: `::error::` where a line begins, `##[error]` and `##vso[task]` anywhere.
_command = re.compile(r"^\s*:(?=:)|##(?=\w{0,20}\[)")
_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

_markup = re.compile(r"[\\`*_\[\]<>#!|~&@$]|://|www\.|" + f"[{_HIDDEN}]", re.IGNORECASE)
# A renderer that links bare addresses looks at the text after entities are read: only a character between breaks them.
_BREAK: Final = "&#8203;"
_MARKDOWN: Final = {
    **{ord(mark): f"\\{mark}" for mark in "`*_[]<>!~&"},
    # Table rows are cut at `|` before escapes are read, so neither a pipe nor a foreign backslash may be in a cell.
    **{ord(mark): f"&#{ord(mark)};" for mark in "|\\$"},
    ord("@"): f"@{_BREAK}",
    ord("#"): f"\\#{_BREAK}",
}
# Blank lines, and what Python puts above a traceback and under its source lines.
_frame = lazy.pattern(r'\s*File "([^"]+)", line \d+')
_packaged = lazy.pattern(
    r"(?:site|dist)-packages|[/\\]lib[/\\]python3|[/\\]Lib[/\\]|^<frozen |[/\\]karat[/\\](?:engine|targets)[/\\]"
)
"""Paths of code that whoever reads a traceback did not write."""
_idle = lazy.pattern(r"[\s^~]*|Traceback \(most recent call last\):\s*")
_address = lazy.pattern(r"(:)(?=//)|(www)(?=\.)", re.IGNORECASE)


def _visible(match: re.Match[str]) -> str:
    char = match[0]
    code = ord(char)
    if char in _SHORT:
        return _SHORT[char]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _spell_command(match: re.Match[str]) -> str:
    """A command with one character of its mark spelled out."""
    return f"{match[0][:-1]}\\x{ord(match[0][-1]):02x}"


def terminal(text: str, limit: int | None = None) -> str:
    """One line without control, reordering or invisible characters: each becomes a visible escape such as `\\x1b`.

    Nor does it hold a command that a forge would look for in what a job prints.
    """
    if limit is not None:
        text = clip(text, limit)
    if "##" in text or "::" in text:
        text = _command.sub(_spell_command, text)
    if text.isascii() and text.isprintable():
        return text
    return _hidden.sub(_visible, text)


def replace_hidden(text: str, shown: Callable[[str], str]) -> str:
    """Text with its lines and tabs; each other hidden character becomes what `shown` makes of its visible escape."""
    if text.isascii() and text.isprintable():
        return text
    return _hidden_in_lines.sub(lambda found: shown(_visible(found)), text)


def markdown_cell(text: str, limit: int = CELL_LIMIT) -> str:
    """Text that is nothing but text in Markdown, in a table cell as well as elsewhere within a line."""
    text = clip(text, limit)
    if not _markup.search(text):
        return text.strip()
    line = terminal(text).strip().translate(_MARKDOWN)
    return _address.sub(lambda found: found[0] + _BREAK, line)


def markdown_link(name: str, file: str) -> str:
    """A link to a file next to the report, for relative paths only: a trace may name anything."""
    if file.startswith(("/", "\\")):
        return f"{markdown_cell(name)} ({markdown_cell(file)})"
    return f"[{markdown_cell(name)}]({quote(file, errors='replace')})"


def clip(text: str, limit: int) -> str:
    """At most `limit` characters, an ellipsis where something is missing."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _telling(log: str) -> list[str]:
    return [line.rstrip() for line in log.expandtabs(4).split("\n") if not _idle.fullmatch(line)]


def _own_frame(lines: list[str], shown: list[str]) -> list[str]:
    """The last frame of a traceback that is not in a package, with its line of code, unless it is shown anyway.

    An error that a library raises deep down is most often caused by the line that called it.
    """
    frames = [
        place for place, line in enumerate(lines) if (found := _frame.match(line)) and not _packaged.search(found[1])
    ]
    if not frames or frames[-1] >= len(lines) - len(shown):
        return []
    first = frames[-1]
    code = [line for line in lines[first + 1 : first + 2] if not _frame.match(line)]
    return [lines[first], *code]


def last_lines(log: str, said: str = "") -> list[str]:
    """The last few lines of a log or traceback that say something, each bounded and inert.

    Those at its end that `said` holds already are left out.
    """
    end = log if len(log) <= LOG_END else f"…{log[-LOG_END:]}"
    lines = _telling(end)[-LOG_LINES:]
    if own := _own_frame(_telling(log[-LOG_SEARCHED:]), lines):
        lines = [*own, "  ...", *lines[len(own) + 1 :]]
    while lines and lines[-1].strip() in said:
        lines.pop()
    return [terminal(line, LOG_LINE) for line in dedent("\n".join(lines)).split("\n") if line]


def excerpt(text: str, start: int, end: int) -> str:
    """One bounded line around a span: `…before [match] after…`. White space is drawn together."""
    start = min(max(start, 0), len(text))
    end = min(max(end, start), len(text))
    match = text[start:end]
    if len(match) > MATCH:
        match = f"{match[: MATCH // 2]}…{match[-MATCH // 2 :]}"
    before = _one_line(text[max(start - AROUND, 0) : start])
    after = _one_line(text[end : end + AROUND])
    left = "…" if start > AROUND or len(before) > AROUND else ""
    right = "…" if len(text) - end > AROUND or len(after) > AROUND else ""
    # Cut once more: an invisible character is up to ten visible ones. The bracket may make a command of `##error`.
    return terminal(f"{left}{before[-AROUND:]}[{clip(_one_line(match), 2 * MATCH)}]{after[:AROUND]}{right}".strip())


def evidence(trace: Trace, at: EvidenceLocation) -> str:
    """The text around a check's evidence, or the empty string if the trace holds none there."""
    text = _text_at(trace, at)
    if at.start is not None and text:
        return excerpt(text, at.start, at.start if at.end is None else at.end)
    if at.channel in PAGES:
        return ""  # how a page begins says nothing of what is missing from it
    return clip(_one_line(text[: 4 * CELL_LIMIT]), CELL_LIMIT)


def _text_at(trace: Trace, at: EvidenceLocation) -> str:
    texts = {"final_message": trace.final_message, "page": trace.page, "page_before": trace.page_before}
    lists = {"tool_calls": trace.tool_calls, "telemetry": trace.telemetry, "messages": trace.messages}
    entries = lists.get(at.channel, ())
    if at.index is None or not 0 <= at.index < len(entries):
        return texts.get(at.channel) or ""
    entry = entries[at.index]
    return entry.content if isinstance(entry, Message) else str(entry)


def _one_line(text: str) -> str:
    return terminal(re.sub(r"\s+", " ", text))
