from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from carob.model.trace import Message, ToolCall, Trace
from carob.model.verdict import EvidenceLocation
from carob.reports.case_details import AROUND, MATCH, evidence, excerpt
from carob.reports.case_facts import LOG_LINE, LOG_LINES, last_lines
from carob.reports.escaping import CELL_LIMIT, clip, markdown_cell, markdown_link, terminal

from .runs import HOSTILE, HUGE

UNSAFE_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp"}
ZERO_WIDTH_SPACE = "\u200b"

nasty = st.sampled_from(
    [
        *"|\\`*_~<>[]()!#&@$:/.-+=\n\r\t\x00\x1b\x7f\x9b\u202e\u2066\u200b\ud800 a1",
        "://",
        "www.",
        "&#124;",
        "```",
        "<b>",
    ]
)
texts = st.one_of(st.text(st.characters()), st.lists(nasty).map("".join))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("12 commits, naïve 宽字符 🙂", "12 commits, naïve 宽字符 🙂", id="plain"),
        pytest.param("\x1b[2J", r"\x1b[2J", id="ansi"),
        pytest.param("\x1b]8;;http://x\x07", r"\x1b]8;;http://x\x07", id="osc"),
        pytest.param("\x9b31m", r"\x9b31m", id="c1"),
        pytest.param("a\nb\r\n\tc", r"a\nb\r\n\tc", id="lines"),
        pytest.param("\u202egnp.exe\u2069", r"\u202egnp.exe\u2069", id="bidi"),
        pytest.param("a\u200bb\ufeff", r"a\u200bb\ufeff", id="zero-width"),
        pytest.param("\ud800", r"\ud800", id="lone-surrogate"),
        pytest.param("\x00", r"\x00", id="nul"),
        pytest.param("\U000e0041", r"\U000e0041", id="tag"),
        pytest.param("::error::x", r"\x3a:error::x", id="github-command"),
        pytest.param("see ##[error]x", r"see #\x23[error]x", id="azure-command"),
        pytest.param("a::b ## c", "a::b ## c", id="no-command"),
    ],
)
def test_terminal_shows_what_it_does_not_obey(text: str, shown: str) -> None:
    assert terminal(text) == shown


def test_every_unsafe_character_of_unicode_is_shown() -> None:
    unsafe = (chr(c) for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c)) in UNSAFE_CATEGORIES)
    assert [hex(ord(char)) for char in unsafe if terminal(char) == char] == []


@given(texts)
@example(HOSTILE)
def test_terminal_is_one_harmless_line(text: str) -> None:
    shown = terminal(text)
    assert not {unicodedata.category(char) for char in shown} & UNSAFE_CATEGORIES
    assert shown.splitlines() in ([], [shown])
    shown.encode()


@given(texts, st.integers(1, 40))
def test_terminal_keeps_to_its_limit(text: str, limit: int) -> None:
    assert terminal(text, limit) == terminal(clip(text, limit))
    assert len(clip(text, limit)) <= limit


def parsed_row(cells: list[str]) -> list[str]:
    """The cells of the one row of a table as a Markdown renderer reads them; they hold nothing but text."""
    source = f"{'| h ' * len(cells)}|\n{'|---' * len(cells)}|\n| {' | '.join(cells)} |\n"
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    tokens = parser.parse(source)
    assert [token.type for token in tokens].count("tr_open") == 2
    assert tokens[-1].type == "table_close"
    inlines = [token for token in tokens if token.type == "inline"][len(cells) :]
    for inline in inlines:
        assert {child.type for child in inline.children or ()} <= {"text"}
    return ["".join(child.content for child in inline.children or ()) for inline in inlines]


@given(st.lists(texts, min_size=1, max_size=4))
@example([HOSTILE, HOSTILE])
@example(["a\\", "|"])
@example(["`", "`"])
@example(["<b", ">"])
@example(["::"])
def test_cells_are_text_and_add_no_column_and_no_row(cells: list[str]) -> None:
    rendered = parsed_row([markdown_cell(cell) for cell in cells])
    shown = [terminal(cell, CELL_LIMIT).strip() for cell in cells]
    assert [_plain(text) for text in rendered] == [_plain(text) for text in shown]


def _plain(text: str) -> str:
    """Without what keeps a forge from linking, and with the colons that are a command where a log begins with them."""
    return text.replace(ZERO_WIDTH_SPACE, "").replace("\\x3a:", "::")


@pytest.mark.parametrize(
    "text", ["see https://evil.example", "HTTP://x", "WWW.evil.example", "@team", "me@x.org", "#12"]
)
def test_addresses_and_mentions_are_broken(text: str) -> None:
    """Forges link them in the rendered text, where entities are read already: only another character helps."""
    (rendered,) = parsed_row([markdown_cell(text)])
    assert not any(mark in rendered for mark in ("://", "WWW.", "@t", "@x", "#1"))
    assert rendered.replace(ZERO_WIDTH_SPACE, "") == text


@pytest.mark.parametrize("text", [HUGE, "|" * 5000, "\U000e0041" * 5000], ids=["huge", "pipes", "tags"])
def test_cells_are_bounded(text: str) -> None:
    assert len(markdown_cell(text)) <= CELL_LIMIT * len("&#92;U000e0041")


@pytest.mark.parametrize(
    ("text", "start", "end", "shown"),
    [
        pytest.param("It is an AI model.", 9, 11, "It is an [AI] model.", id="short"),
        pytest.param("x" * 100 + "AI" + "y" * 100, 100, 102, f"…{'x' * 60}[AI]{'y' * 60}…", id="cut-at-both-ends"),
        pytest.param("a\n\n b\x1b", 4, 5, r"a [b]\x1b", id="one-line"),
        pytest.param("abc", 50, 60, "abc[]", id="beyond-the-end"),
        pytest.param("abc", -5, -1, "[]abc", id="before-the-start"),
        pytest.param("abc", 2, 1, "ab[]c", id="backwards"),
        pytest.param("", 0, 0, "[]", id="empty"),
    ],
)
def test_excerpt(text: str, start: int, end: int, shown: str) -> None:
    assert excerpt(text, start, end) == shown


@given(texts, st.integers(), st.integers())
@example(HUGE, 5, 1 << 20)
@example("\U000e0041" * 300, 100, 200)
@example("##error", 2, 7)
def test_excerpt_is_one_bounded_harmless_line(text: str, start: int, end: int) -> None:
    shown = excerpt(text, start, end)
    assert len(shown) <= 2 * AROUND + 2 * MATCH + 4 + len(r"\x23")
    assert terminal(shown) == shown


TRACEBACK = """\
Traceback (most recent call last):
  File "agent.py", line 4, in answer
    return ask(prompt) + 1
           ~~~~~~~~~~~~^~~
  File "agent.py", line 9, in ask
    raise ConnectionError("down")
ConnectionError: down
"""


@pytest.mark.parametrize(
    ("log", "said", "shown"),
    [
        pytest.param("", "", [], id="nothing"),
        pytest.param("\n \n\t\r\n", "exit code 1", [], id="blank"),
        pytest.param("one\n\ntwo\r\n", "", ["one", "two"], id="no-blank-lines"),
        pytest.param("".join(f"{i}\n" for i in range(99)), "", ["94", "95", "96", "97", "98"], id="the-last"),
        pytest.param("panic:\n\tat main\n", "", ["panic:", "    at main"], id="tabs"),
        pytest.param("    a\n      b\n    c", "", ["a", "  b", "c"], id="common-indent"),
        pytest.param("x" * 9999, "", ["…" + "x" * (LOG_LINE - 2) + "…"], id="a-long-line"),
        pytest.param("\x1b[31mred\x1b[0m\n\u202eabc", "", [r"\x1b[31mred\x1b[0m", r"\u202eabc"], id="steering"),
        pytest.param(
            TRACEBACK,
            "ConnectionError: down",
            [
                'File "agent.py", line 4, in answer',
                "  return ask(prompt) + 1",
                'File "agent.py", line 9, in ask',
                '  raise ConnectionError("down")',
            ],
            id="a-traceback-whose-message-is-known",
        ),
        pytest.param(
            TRACEBACK,
            "exit code 1",
            TRACEBACK.replace(TRACEBACK.splitlines()[3] + "\n", "").splitlines()[1:],
            id="a-traceback",
        ),
    ],
)
def test_last_lines(log: str, said: str, shown: list[str]) -> None:
    assert last_lines(log, said) == shown


@given(texts, texts)
@example(HUGE, "")
@example("\t" * 9999, "")
@example("\U000e0041" * 9999, "")
def test_last_lines_are_few_bounded_and_harmless(log: str, said: str) -> None:
    shown = last_lines(log, said)
    assert len(shown) <= LOG_LINES
    for line in shown:
        assert line.strip()
        assert len(line) <= LOG_LINE * len("\\U000e0041")
        assert terminal(line) == line


TRACE = Trace(
    case_id="G1",
    final_message="twelve commits",
    messages=(Message("assistant", "one moment"),),
    tool_calls=(ToolCall("lookup", success=True),),
    telemetry=("started\x1b",),
    page="- list",
)


@pytest.mark.parametrize(
    ("at", "shown"),
    [
        pytest.param(EvidenceLocation("final_message", 7, 14), "twelve [commits]", id="span"),
        pytest.param(EvidenceLocation("final_message", 7), "twelve []commits", id="point"),
        pytest.param(EvidenceLocation("page"), "", id="no-place-on-the-page"),
        pytest.param(EvidenceLocation("page_before"), "", id="no-such-text"),
        pytest.param(EvidenceLocation("tool_calls", index=0), "lookup (success)", id="tool-call"),
        pytest.param(EvidenceLocation("telemetry", index=0), r"started\x1b", id="event"),
        pytest.param(EvidenceLocation("messages", 4, 10, 0), "one [moment]", id="span-of-a-message"),
        pytest.param(EvidenceLocation("messages", index=7), "", id="no-such-message"),
        pytest.param(EvidenceLocation("messages", index=-1), "", id="negative-index"),
        pytest.param(EvidenceLocation("elsewhere", 1, 2), "", id="unknown-channel"),
    ],
)
def test_evidence(at: EvidenceLocation, shown: str) -> None:
    assert evidence(TRACE, at) == shown


def frame(file: str, code: str) -> str:
    return f'  File "{file}", line 7, in call\n    {code}\n'


OWN = frame("/home/me/agent.py", "return client.ask(prompt)")
DEEP = "".join(frame(f"/env/lib/python3.11/site-packages/lib/part{n}.py", f"step({n})") for n in range(9))


@pytest.mark.parametrize(
    ("log", "shown"),
    [
        pytest.param(OWN + DEEP, True, id="over-deep-frames-of-a-library"),
        pytest.param(OWN + "x" * 10 + DEEP * 40, True, id="over-many"),
        pytest.param(DEEP, False, id="none-of-ones-own"),
    ],
)
def test_the_frame_of_ones_own_code_is_kept(log: str, shown: bool) -> None:
    lines = last_lines(f"Traceback (most recent call last):\n{log}ValueError: bad\n", "ValueError: bad")
    assert ("return client.ask(prompt)" in "\n".join(lines)) is shown
    assert "step(8)" in lines[-1]
    assert len(lines) <= 5


def test_only_files_next_to_a_report_are_linked() -> None:
    assert markdown_link("shot", "files/a b.png") == "[shot](files/a%20b.png)"
    for file in ("/etc/passwd", "\\\\host\\share", "//evil.example/x"):
        assert "](" not in markdown_link("shot", file)
