import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carob.text.regexes import safe_regex
from carob.text.regexes.safe_regex import RegexTimeout, compile_pattern, find_all, find_seen, matches_empty, search
from carob.text.regexes.syntax import BadPattern

HANGING = "(?:a|aa)+$"
HUNG = "a" * 60 + "b"
LEVER_REGEX = r"(?im)^(?:[-*]|[0-9]+\.)\s+.+"


def cut(text: str, span: tuple[int, int] | None) -> str | None:
    return None if span is None else text[slice(*span)]


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        pytest.param(r"GitHub:\s*[0-9]+", "x\ngithub: 12 commits", "github: 12", id="ignores-case"),
        pytest.param(r"^b$", "a\nb\nc", "b", id="every-line"),
        pytest.param(r"^b$", "a\r\nb\r\nc", "b", id="every-line-with-returns"),
        pytest.param(r"^b$", "a\u2028b\x85c", "b", id="every-line-of-any-kind"),
        pytest.param(r"a.b", "a\nb", None, id="dot-stays-in-its-line"),
        pytest.param(r"(?s)a.b", "a\nb", "a\nb", id="leading-flag"),
        pytest.param(r"(?im)^RISK", "low\nrisk", "risk", id="leading-flags-of-the-seed"),
        pytest.param(r"low|(?i)risk", "RISK", "RISK", id="flag-in-the-middle-that-is-always-on"),
        pytest.param(r"(?-i:PR)", "pr PR", "PR", id="case-can-be-asked-for"),
        pytest.param(r'"it\'s" - x', "“It’s” — x", "“It’s” — x", id="plain-pattern-typographic-text"),
        pytest.param("“It’s” — x", '"it\'s" - x', '"it\'s" - x', id="typographic-pattern-plain-text"),
        pytest.param("[–—]x", "a—x", "—x", id="dashes-in-a-set"),
        pytest.param("[a–c]x", "bx", None, id="dash-between-characters-is-no-range"),
        pytest.param(r"[a–]x", "c-x bx", "-x", id="dash-in-a-set-is-no-range"),
        pytest.param(r"\u2014x", "a—x", "—x", id="escaped-dash"),
        pytest.param(r"\N{EM DASH}x", "a—x", "—x", id="named-dash"),
        pytest.param("[\u2018-\u201f]x", "“x", "“x", id="range-of-quotes"),
        pytest.param(r"[\u2010-\u2015]x", "–x", "–x", id="range-of-escapes"),
        pytest.param(r"[^\x00-\x7f]", "a-b'", None, id="range-of-everything-else-stays"),
        pytest.param(r"[\u0080-\uffff]", "a-b'é", "é", id="wide-range-stays"),
        pytest.param(r"a b", "a\xa0b", "a\xa0b", id="no-break-space-in-the-text"),
        pytest.param("a\xa0b", "a b", "a b", id="no-break-space-in-the-pattern"),
        pytest.param(r"(?x) a \xa0 b # note", "a b", "a b", id="no-break-space-in-a-verbose-pattern"),
        pytest.param("er\xadror", "er\u200bror", "er\u200bror", id="invisible-characters-match-nothing"),
        pytest.param("co\xad?operate", "cooperate", "cooperate", id="invisible-character-with-a-quantifier"),
        pytest.param("co\xad?operate", "coperate", None, id="the-quantifier-takes-nothing-else"),
        pytest.param(r"a\r\nb", "a\nb", "a\nb", id="return-and-newline"),
        pytest.param(r"a\r?\nb", "a\r\nb", "a\r\nb", id="optional-return"),
        pytest.param(r"a\r\n?b", "a\rb", "a\rb", id="optional-newline"),
        pytest.param("caf\u00e9", "cafe\u0301", "cafe\u0301", id="nfc-text"),
        pytest.param("cafe\u0301", "caf\u00e9", "caf\u00e9", id="nfc-pattern"),
        pytest.param(r"a{,2}b[^]x]", "aaby", "aaby", id="open-repeat-and-bracket-in-a-set"),
        pytest.param(r"[[:digit:]–]+", "x12–3", "12–3", id="named-set"),
        pytest.param(r"x\{id\}", "x{id}", "x{id}", id="escaped-braces"),
        pytest.param(r"\d{4}-\d{2}", "on 2026-11", "2026-11", id="counts"),
        pytest.param("\x00.\ud800", "\x00a\ud800", "\x00a\ud800", id="nul-and-surrogate"),
    ],
)
def test_search(pattern: str, text: str, found: str | None) -> None:
    assert cut(text, search(pattern, text)) == found


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        pytest.param("(", "missing ) at position 1", id="open-group"),
        pytest.param("[a", "unterminated character set at position 2", id="open-set"),
        pytest.param("a**", "multiple repeat at position 2", id="two-quantifiers"),
        pytest.param("a\\", "bad escape (end of pattern) at position 2", id="lone-backslash"),
        pytest.param("x" * 4097, "longer than 4,096 characters (4,097)", id="too-long"),
        pytest.param("a{1,100000}", "repeats {1,100000} more than 1,000 times at position 1", id="many-repeats"),
        pytest.param("a{1001}", "more than 1,000 times", id="many-exact-repeats"),
        pytest.param("a{99999999999999999999}", "more than 1,000 times", id="absurd-repeats"),
        pytest.param("(?:a{1000}){1000}", "nested repeats of more than 10,000 at position 11", id="nested-repeats"),
        pytest.param("((a{101}b)+){100}", "nested repeats", id="deeply-nested-repeats"),
        pytest.param("(" * 101 + ")" * 101, "nested more than 100 deep", id="deep-groups"),
        pytest.param("foo(?s)bar", "flags (?s) must be at the start of the pattern, not at position 3", id="late-flag"),
        pytest.param("(?r)a", "flags (?r) are not supported", id="reverse"),
        pytest.param("(?V1)a", "flags (?V1) are not supported", id="version"),
        pytest.param("(?:a){e<=1}", "fuzzy matching", id="fuzzy"),
        pytest.param("a{e}", "fuzzy matching", id="fuzzy-without-a-bound"),
        pytest.param("a(?R)?b", "recursion (?R) is not supported at position 1", id="recursion"),
        pytest.param("[\u200b]", "unterminated character set", id="set-of-nothing"),
    ],
)
def test_bad_pattern(pattern: str, message: str) -> None:
    with pytest.raises(BadPattern) as caught:
        compile_pattern(pattern)
    assert message in str(caught.value)


def test_a_compiled_pattern_is_kept() -> None:
    assert compile_pattern("kept[0-9]") is compile_pattern("kept[0-9]")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        pytest.param("", True, id="empty"),
        pytest.param("x*", True, id="star"),
        pytest.param("^", True, id="anchor"),
        pytest.param("(?!x)", True, id="negative-lookahead"),
        pytest.param("a|", True, id="empty-alternative"),
        pytest.param("\u200b", True, id="invisible"),
        pytest.param("x+", False, id="plus"),
        pytest.param("(?=x)", False, id="lookahead"),
        pytest.param(r"\b", False, id="word-boundary"),
    ],
)
def test_matches_empty(pattern: str, expected: bool) -> None:
    assert matches_empty(pattern) is expected


def test_spans_are_those_of_the_text_as_written() -> None:
    text = "“a”\r\n- e\u0301n\r\n- two"
    assert [text[slice(*span)] for _, span in find_seen(LEVER_REGEX, text)] == ["- e\u0301n", "- two"]
    assert [found for found, _ in find_all(LEVER_REGEX, text)] == ["- én", "- two"]
    assert len(find_seen("a", "aaaa", at_most=2)) == 2


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        pytest.param(r"(a+)+$", "a" * 40 + "b", id="nested-plus"),
        pytest.param(r"(.*)*x", "a" * 2**20, id="nested-star-on-a-mebibyte"),
        pytest.param(r"(x+x+)+y", "x" * 2**20, id="twin-plus-on-a-mebibyte"),
        pytest.param(HANGING, HUNG, id="two-ways"),
        pytest.param(r"\bfoo\b.{0,1000}bar", "foo " * 2**18, id="long-gap"),
    ],
)
def test_every_call_comes_back(pattern: str, text: str) -> None:
    for call in (search, find_seen):
        started = time.thread_time()
        with suppress(RegexTimeout):
            call(pattern, text)
        assert time.thread_time() - started < 1


class SlowMachine:
    """Clocks of a machine on which this process gets `share` of a core, and this thread `part` of that."""

    def __init__(self, share: float, part: float) -> None:
        self.share, self.part, self.cpu = share, part, 0.0

    def process_time(self) -> float:
        return self.cpu

    def thread_time(self) -> float:
        return self.cpu * self.part

    def monotonic(self) -> float:
        return self.cpu / self.share

    def work(self, needed: float, limit: float) -> str:
        """Do what needs so much CPU of this thread, unless the process uses `limit` before."""
        self.cpu += min(needed / self.part, limit)
        if needed / self.part > limit:
            raise TimeoutError
        return "done"


@pytest.mark.parametrize("share", [2.0, 1.0, 0.5, 0.1, 0.05])
@pytest.mark.parametrize("part", [1.0, 0.5, 0.1])
def test_the_budget_holds_on_a_busy_machine(monkeypatch: pytest.MonkeyPatch, share: float, part: float) -> None:
    machine = SlowMachine(share, part)
    monkeypatch.setattr(safe_regex, "time", machine)
    with pytest.raises(RegexTimeout):
        safe_regex._run_within_budget(lambda limit: machine.work(1000, limit), "x", "")
    assert machine.thread_time() == pytest.approx(0.5, abs=0.01) or machine.monotonic() > 1.3
    assert machine.thread_time() < 0.52
    assert machine.monotonic() < 1.6


@pytest.mark.parametrize(
    ("share", "part", "needed"),
    [
        pytest.param(1.0, 1.0, 0.45, id="quiet"),
        pytest.param(2.0, 0.25, 0.15, id="busy-threads"),
        pytest.param(0.25, 1.0, 0.15, id="busy-machine"),
    ],
)
def test_work_within_the_budget_is_done(
    monkeypatch: pytest.MonkeyPatch, share: float, part: float, needed: float
) -> None:
    machine = SlowMachine(share, part)
    monkeypatch.setattr(safe_regex, "time", machine)
    assert safe_regex._run_within_budget(lambda limit: machine.work(needed, limit), "x", "") == "done"


def test_no_answer_is_not_no_match() -> None:
    with pytest.raises(RegexTimeout, match=r"took too long on a text of 61 characters") as caught:
        search(HANGING, HUNG)
    assert caught.value.pattern == HANGING


def test_many_slow_matches_share_one_budget() -> None:
    one = "a" * 24 + "b"
    started = time.thread_time()
    with pytest.raises(RegexTimeout):
        find_seen(r"c(?:(?:a|aa)+d|a+b)", ("c" + one) * 2000)
    assert time.thread_time() - started < 1


@given(st.text(max_size=20), st.text(max_size=40))
def test_any_pattern_is_refused_or_answers(pattern: str, text: str) -> None:
    with suppress(BadPattern):
        span = search(pattern, text)
        assert span is None or 0 <= span[0] <= span[1] <= len(text)


@given(st.text(r"ab01(){}[]^$.*+?|\-:=!<>Pxrn,–“ ", max_size=15), st.text("ab01-\n", max_size=15))
def test_any_syntax_is_refused_or_answers(pattern: str, text: str) -> None:
    with suppress(BadPattern):
        span = search(pattern, text)
        assert span is None or 0 <= span[0] <= span[1] <= len(text)


PIECES = st.lists(
    st.sampled_from(
        [
            *"aAiIkKsS0 -_.",
            r"\w",
            r"\W",
            r"\d",
            r"\s",
            r"\b",
            r"\B",
            "[a-z]",
            "[^i]",
            "[A-_]",
            "(?:s|K)",
            "+",
            "?",
            "|",
            "^",
            "$",
        ]
    ),
    max_size=8,
).map("".join)


@given(PIECES, st.text("aAiIkKsS0 -_.\n", max_size=20))
def test_a_pattern_finds_the_same_in_ascii_by_whichever_rules(pattern: str, text: str) -> None:
    with suppress(BadPattern):
        found = compile_pattern(pattern).search(text)
        assert search(pattern, text) == (None if found is None else found.span())


@pytest.mark.parametrize("pattern", [r"\u017f", r"\u212a", r"[\u0130-\u0131]", r"\N{KELVIN SIGN}"])
def test_a_character_beyond_ascii_still_means_its_letter(pattern: str) -> None:
    assert search(pattern, "ski") is not None
