import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from carob.text.characters import folded
from carob.text.folding import fold, fold_phrase, glyphs, lines, original_span, original_span_of_lines

# Characters that change their length, melt into neighbours, vanish or break lines, among harmless ones.
TRICKY = "aAsSeEiIkK 12.,-_ßẞİıſŉǰﬀﬃﬆΐΰᾳᾴΣςͅ\u0301\u0308\u030c\u0307가\u1100\u1161\u11a8\u0958\u2126\u212b\u0344"
TRICKY += (
    "‘’‚‛′‹›“”„‟″«»‐‑‒–—―−\xad\u200b\u200d\u2060\ufeff\ufe0f\u202e \t\n\r\x0b\x1c\x85\xa0\u2009\u202f\u2028\u2029\u3000"
)
TRICKY += "\x00\ud800\udfff👩💻"
# All planes but the blocks of ideographs, syllables and private characters, which fold to themselves.
FOLDING_BLOCKS = (
    (0, 0x3400),
    (0xA000, 0xAC00),
    (0xD7B0, 0xE000),
    (0xF900, 0x12000),
    (0x16E00, 0x17000),
    (0x1D000, 0x1F000),
)
ALL_CHARACTERS = [chr(code) for block in (*FOLDING_BLOCKS, (0xE0000, 0xE0200)) for code in range(*block)]
texts = st.one_of(st.text(TRICKY, max_size=40), st.text(st.characters(), max_size=40))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Hello World", "hello world", id="case"),
        pytest.param("STRASSE straße", "strasse strasse", id="full-case-folding"),
        pytest.param("e\u0301te\u0301", "été", id="nfc"),
        pytest.param("a\r\nb\rc\nd", "a b c d", id="line-ends"),
        pytest.param("a \t\n  b\x0b\x1cc", "a b c", id="runs-of-white-space"),
        pytest.param("  a b \n", "a b", id="ends"),
        pytest.param("a\xa0b\u2009c\u3000d\u2028e\x85f", "a b c d e f", id="wide-and-no-break-spaces"),
        pytest.param("‘a’ ‚b‛ ′ ‹c›", "'a' 'b' ' 'c'", id="single-quotes"),
        pytest.param("“a” „b‟ ″ «c»", '"a" "b" " "c"', id="double-quotes"),
        pytest.param("‐‑‒–—―−", "-------", id="dashes"),
        pytest.param("er\xadr\u200bo\u2060r\ufeff", "error", id="invisible"),
        pytest.param("e\u200b\u0301", "é", id="invisible-before-a-mark"),
        pytest.param("\u202eabc\u202c", "abc", id="bidirectional-marks"),
        pytest.param("⚠️ up", "⚠ up", id="variation-selector"),
        pytest.param("\ud800A\x00B", "\ud800a\x00b", id="surrogate-and-nul"),
        pytest.param("", "", id="empty"),
    ],
)
def test_fold(text: str, expected: str) -> None:
    assert fold(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("A\r\nB\rC\u2028D\u2029E\x85F", "A\nB\nC\nD\nE\nF", id="line-ends"),
        pytest.param("  A  b\t", "  A  b\t", id="case-and-spaces-stay"),
        pytest.param("a\xa0b\u2009c", "a b c", id="no-break-spaces-are-spaces"),
        pytest.param("“It’s” — ok", '"It\'s" - ok', id="quotes-and-dashes"),
        pytest.param("1\u200b2", "12", id="invisible"),
        pytest.param("e\u200b\u0301", "é", id="invisible-before-a-mark"),
        pytest.param("a\x0bb\x0cc", "a\x0bb\x0cc", id="form-feed-is-no-line-end"),
    ],
)
def test_lines(text: str, expected: str) -> None:
    assert lines(text) == expected


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        pytest.param("Good Morning", "good morning", id="plain"),
        pytest.param(" AI\n", " ai ", id="outer-space-asks-for-a-gap"),
        pytest.param("\u200b AI", " ai", id="behind-an-invisible-character"),
        pytest.param(" \n\u200b", "", id="nothing"),
    ],
)
def test_fold_phrase(phrase: str, expected: str) -> None:
    assert fold_phrase(phrase) == expected


def test_every_character_folds_to_something_stable() -> None:
    unstable = [char for char in ALL_CHARACTERS if folded(once := folded(char)) != once]
    assert unstable == []


def test_every_dropped_character_has_no_glyph() -> None:
    dropped = [char for char in ALL_CHARACTERS if not char.isspace() and folded(char) == ""]
    # Default_Ignorable_Code_Point has letters that fill a place (Lo) and places that are reserved (Cn).
    assert {unicodedata.category(char) for char in dropped} == {"Cf", "Cn", "Lo", "Mn"}
    assert set("\xad\u200b\u2060\ufeff") < set(dropped)


@given(texts)
@example("J\u030c")
@example("\u0345\u0301a")
def test_fold_is_idempotent(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(texts)
def test_fold_is_split_and_join(text: str) -> None:
    assert fold(text) == " ".join(fold(text).split())
    assert not any(char.isspace() and char != " " for char in fold(text))


@given(texts)
def test_lines_is_idempotent_and_folds_the_same(text: str) -> None:
    assert lines(lines(text)) == lines(text)
    assert fold(lines(text)) == fold(text)


@given(texts, st.data())
@example("ß\xad x", None)
@example("a\u200b\u0301 b", None)
def test_a_folded_span_comes_from_a_span_that_folds_to_it(text: str, data: st.DataObject | None) -> None:
    seen = fold(text)
    start, end = _some_span(len(seen), data)
    first, last = original_span(text, start, end)
    assert 0 <= first <= last <= len(text)
    assert seen[start:end].strip() in fold(text[first:last])
    assert len(fold(text[first:last])) >= len(seen[start:end].strip())


@given(texts)
def test_neighbouring_folded_characters_keep_their_order(text: str) -> None:
    spans = [original_span(text, index, index + 1) for index in range(len(fold(text)))]
    assert spans == sorted(spans)
    for (first, last), (after_first, after_last) in pairwise(spans):
        assert last <= after_first or (first, last) == (after_first, after_last)


@given(texts, st.data())
@example("a\r\nb", None)
def test_a_span_of_lines_comes_from_a_span_with_the_same_lines(text: str, data: st.DataObject | None) -> None:
    seen = lines(text)
    start, end = _some_span(len(seen), data)
    first, last = original_span_of_lines(text, start, end)
    assert 0 <= first <= last <= len(text)
    assert seen[start:end] in lines(text[first:last])
    assert len(glyphs(text)) == len(seen)


@pytest.mark.parametrize(
    ("text", "phrase", "expected"),
    [
        pytest.param("a  b\n\nc d", "c d", "c d", id="after-gaps"),
        pytest.param(" \n a b", "a b", "a b", id="after-a-lead"),
        pytest.param("die Straße hier", "strasse", "Straße", id="growing-case"),
        pytest.param("cafe\u0301 noir", "noir", "noir", id="after-a-composition"),
        pytest.param("“a” — ﬁne ok", "fine", "ﬁne", id="ligature"),
        pytest.param("İstanbul ok", "ok", "ok", id="after-a-dotted-capital-i"),
        pytest.param("x\u200by z", "xy", "x\u200by", id="invisible-within"),
        pytest.param("\u1100\u200b\u1161 ok", "ok", "ok", id="after-syllables-that-melt"),
        pytest.param("J\u030c ok", "ok", "ok", id="after-a-composition-of-small-letters-only"),
        pytest.param("\u0958 ok e\u0301", "ok", "ok", id="between-growing-and-shrinking"),
    ],
)
def test_a_phrase_is_pointed_at_as_written(text: str, phrase: str, expected: str) -> None:
    start = fold(text).index(phrase)
    first, last = original_span(text, start, start + len(phrase))
    assert text[first:last] == expected


def _some_span(length: int, data: st.DataObject | None) -> tuple[int, int]:
    if data is None:
        return 0, length
    start = data.draw(st.integers(0, length))
    return start, data.draw(st.integers(start, length))
