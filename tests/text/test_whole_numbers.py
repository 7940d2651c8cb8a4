import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from carob.text.numbers.whole import ground, number_spans

prose = st.text("abcdefgh ,.;:!?\n-()é“—\xa0", max_size=30)


def cut(text: str, span: tuple[int, int] | None) -> str | None:
    return None if span is None else text[slice(*span)]


def first(text: str, value: str) -> tuple[int, int] | None:
    return next(number_spans(text, value), None)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("GitHub: 12 commits", id="plain"),
        pytest.param("12", id="alone"),
        pytest.param("$12", id="spec-currency"),
        pytest.param("12%", id="spec-percent"),
        pytest.param("12ms", id="spec-unit"),
        pytest.param("12 ms", id="unit-apart"),
        pytest.param("12m²", id="unit-with-an-exponent"),
        pytest.param("US$12", id="letters-before-a-currency"),
        pytest.param("(12)", id="brackets"),
        pytest.param("There are 12.", id="sentence-end"),
        pytest.param("12.", id="alone-with-a-full-stop"),
        pytest.param("12, then", id="comma"),
        pytest.param("GitHub:12", id="colon-after-a-word"),
        pytest.param("**12**", id="markdown-bold"),
        pytest.param("`12`", id="markdown-code"),
        pytest.param("| 12 |", id="markdown-table"),
        pytest.param("- 12 commits", id="bullet"),
        pytest.param("#12", id="hash"),
        pytest.param("+12", id="plus"),
        pytest.param("10-12", id="range-end"),
        pytest.param("12–14 days", id="range-start"),
        pytest.param("5%-12%", id="range-of-percents"),
        pytest.param("$10-$12", id="range-of-prices"),
        pytest.param("Q-12", id="hyphen-after-a-word"),
        pytest.param("12-month plan", id="hyphen-before-a-word"),
        pytest.param("total—12", id="dash-after-a-word"),
        pytest.param("12.0", id="zero-fraction"),
        pytest.param("12/day", id="rate"),
        pytest.param("wait...12", id="after-an-ellipsis"),
        pytest.param("１２", id="full-width-digits"),
        pytest.param("١٢", id="arabic-digits"),
        pytest.param("1\u200b2", id="invisible-character-within"),
        pytest.param("1 200 and 12", id="later-one"),
        pytest.param("12\xa05", id="no-break-space-that-groups-nothing"),
        pytest.param("12 5000", id="space-that-groups-nothing"),
        pytest.param("12  500", id="columns"),
        pytest.param("12\n500", id="lines"),
        pytest.param("12 m", id="metres-or-minutes"),
        pytest.param("12 Boxes", id="word-that-starts-like-a-magnitude"),
        pytest.param("12 millionaires", id="word-that-starts-like-a-large-number"),
        pytest.param("12 · 5", id="dot-between-two-numbers"),
        pytest.param("2026-05-01 500; 12", id="no-group-behind-a-date"),
    ],
)
def test_holds_12(text: str) -> None:
    found = cut(text, first(text, "12"))
    assert found is not None
    assert found.replace("\u200b", "").translate(str.maketrans("１２١٢", "1212")) in ("12", "12.0")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("124", id="spec-longer-after"),
        pytest.param("2012", id="spec-longer-before"),
        pytest.param("1.12", id="spec-fraction"),
        pytest.param("12.5", id="whole-part-of-a-decimal"),
        pytest.param(".12", id="bare-fraction"),
        pytest.param("12,500", id="group-of-thousands"),
        pytest.param("12\u202f500", id="group-with-thin-space"),
        pytest.param("12'500", id="group-with-apostrophe"),
        pytest.param("12 000", id="group-with-space"),
        pytest.param("12 000 000 rows", id="groups-with-spaces"),
        pytest.param("12 100-point items", id="two-numbers-or-one"),
        pytest.param("12\u066b5", id="arabic-decimal"),
        pytest.param("12\u066c500", id="arabic-group"),
        pytest.param("12·5", id="raised-dot"),
        pytest.param("1,12", id="comma-that-groups-nothing"),
        pytest.param("-12", id="minus"),
        pytest.param("−12", id="typographic-minus"),
        pytest.param("(-12)", id="minus-in-brackets"),
        pytest.param("-$12", id="minus-before-a-currency"),
        pytest.param("v1.12", id="version"),
        pytest.param("v12", id="letter-before"),
        pytest.param("1.12.3", id="version-part"),
        pytest.param("12.x", id="version-with-a-letter"),
        pytest.param("192.168.1.12", id="address"),
        pytest.param("2026-11-12", id="date"),
        pytest.param("2026–11–12", id="date-with-dashes"),
        pytest.param("12-Nov-2026", id="date-with-a-month-name"),
        pytest.param("2026-Nov-12", id="date-with-a-month-name-last"),
        pytest.param("2026-12", id="year-and-month"),
        pytest.param("11/12/2026", id="date-with-slashes"),
        pytest.param("12/15", id="fraction-or-date"),
        pytest.param("10:12", id="time"),
        pytest.param("12:30", id="hour"),
        pytest.param("12pm", id="hour-pm"),
        pytest.param("12-3", id="score"),
        pytest.param("0x12", id="hexadecimal"),
        pytest.param("12f4", id="hash-value"),
        pytest.param("dpl_12", id="identifier"),
        pytest.param("12_000", id="underscore"),
        pytest.param("a716-12", id="id-with-digits-before"),
        pytest.param("12-rc1", id="id-with-digits-after"),
        pytest.param("12e3", id="exponent"),
        pytest.param("12e-3", id="negative-exponent"),
        pytest.param("12e+3", id="positive-exponent"),
        pytest.param("https://x.test/pr/12", id="path"),
        pytest.param("12k", id="thousands"),
        pytest.param("$12M", id="millions"),
        pytest.param("12bn", id="billions"),
        pytest.param("12 million", id="millions-in-words"),
        pytest.param("12-million", id="millions-with-a-hyphen"),
        pytest.param("12\nmillion", id="millions-in-the-next-line"),
        pytest.param("12 lakh", id="lakh"),
        pytest.param("12 crore", id="crore"),
        pytest.param("12 dozen", id="dozen"),
        pytest.param("12 bn", id="billions-apart"),
        pytest.param("€12\xa0M", id="millions-apart"),
        pytest.param("12 k", id="thousands-apart"),
        pytest.param("12 pm", id="hour-pm-apart"),
        pytest.param("12th", id="rank"),
        pytest.param("012", id="leading-zero"),
        pytest.param("12²", id="square"),
        pytest.param("12½", id="and-a-half"),
        pytest.param("11. eleven\n12. twelve", id="list-number"),
        pytest.param("  > - 12) twelve", id="nested-list-number"),
        pytest.param("12\u200b4", id="invisible-character-splits-nothing"),
        pytest.param("１12", id="mixed-digits"),
        pytest.param("twelve", id="words"),
        pytest.param("", id="empty"),
    ],
)
def test_does_not_hold_12(text: str) -> None:
    assert list(number_spans(text, "12")) == []


@pytest.mark.parametrize(
    ("text", "value", "found"),
    [
        pytest.param("1,200 sessions", "1200", "1,200", id="spec-thousands-separator"),
        pytest.param("1200 sessions", "1,200", "1200", id="separator-in-the-value"),
        pytest.param("1\u202f200\u202f000,", "1200000", "1\u202f200\u202f000", id="thin-spaces"),
        pytest.param("1 200", "1200", "1 200", id="plain-space"),
        pytest.param("1 200", "200", None, id="group-is-no-number"),
        pytest.param("12 000.50", "12000.5", "12 000.50", id="plain-space-and-fraction"),
        pytest.param("12 000,50", "12000", None, id="plain-space-and-comma-fraction"),
        pytest.param("-12 000", "-12000", "-12 000", id="plain-space-and-minus"),
        pytest.param("12000", "12 000", "12000", id="plain-space-in-the-value"),
        pytest.param("in 2012 500 more", "500", "500", id="number-after-a-year"),
        pytest.param("Q3 120 deals", "120", "120", id="number-after-a-name-with-a-digit"),
        pytest.param("١٢٫٥", "12.5", "١٢٫٥", id="arabic-decimal"),
        pytest.param("١٢٬٥٠٠", "12500", "١٢٬٥٠٠", id="arabic-thousands"),
        pytest.param("12 k users", "12k", "12", id="magnitude-apart"),
        pytest.param("in 2012\xa0500 more", "2012", "2012", id="year-before-a-no-break-space"),
        pytest.param("1'200", "1200", "1'200", id="apostrophe"),
        pytest.param("$1,200.50", "1200.5", "1,200.50", id="separator-and-fraction"),
        pytest.param("12.50", "12.5", "12.50", id="zeros-at-the-end"),
        pytest.param(".5", "0.50", ".5", id="bare-fraction"),
        pytest.param("0.5", ".5", "0.5", id="bare-fraction-in-the-value"),
        pytest.param("at -12 °C", "-12", "-12", id="negative"),
        pytest.param("12", "-12", None, id="not-negative"),
        pytest.param("0", "0", "0", id="zero"),
        pytest.param("007", "007", "007", id="code-with-zeros"),
        pytest.param("7", "007", None, id="code-without-zeros"),
        pytest.param("12 %", "12%", "12", id="unit-in-the-value"),
        pytest.param("1.12%", "12%", None, id="unit-after-a-fraction"),
        pytest.param("12 ms", "12ms", "12", id="unit-apart"),
        pytest.param("12 msx", "12ms", None, id="unit-is-a-whole-word"),
        pytest.param("costs $12.", "$12", "12", id="currency-in-the-value"),
        pytest.param("12", "$12", None, id="currency-missing"),
        pytest.param("$12k", "$12", None, id="currency-of-another-number"),
        pytest.param("12k users", "12k", "12", id="magnitude-in-the-value"),
        pytest.param("12th", "12th", "12", id="rank-in-the-value"),
        pytest.param("12\nCommits!", "12 commits", "12", id="words-in-the-value"),
        pytest.param("112 commits", "12 commits", None, id="words-after-a-longer-number"),
        pytest.param("PR  #12", "pr #12", "12", id="words-before"),
        pytest.param("APR #12", "pr #12", None, id="words-before-are-whole"),
        pytest.param("N/A.", "n/a", "N/A", id="no-number"),
        pytest.param("id dpl_8F!", "dpl_8f", "dpl_8F", id="identifier"),
        pytest.param("dpl_8Fa", "dpl_8F", None, id="identifier-is-a-whole-word"),
        pytest.param("greens", "green", None, id="words-have-no-plural-here"),
        pytest.param("10:12", "10:12", "10:12", id="time"),
        pytest.param("10:12:30", "10:12", None, id="time-with-seconds"),
        pytest.param("on 2026-11-12.", "2026-11-12", "2026-11-12", id="date"),
        pytest.param("2026-11-12", "11-12", None, id="part-of-a-date"),
        pytest.param("anything", "", None, id="empty-value"),
        pytest.param("\x00 12 \ud800", "12", "12", id="nul-and-surrogate"),
    ],
)
def test_value(text: str, value: str, found: str | None) -> None:
    assert cut(text, first(text, value)) == found


def test_every_place_is_found() -> None:
    assert list(number_spans("12 and 12", "12")) == [(0, 2), (7, 9)]


REPORT = "GitHub: 12 commits\r\nSlack: 4 threads\u2028Linear: 12 issues"


@pytest.mark.parametrize(
    ("value", "context", "same_line", "expected"),
    [
        pytest.param("12", (), False, "12", id="no-context"),
        pytest.param("12", ("commits",), False, "12", id="context"),
        pytest.param("4", ("COMMITS",), False, "4", id="context-in-another-line"),
        pytest.param("4", ("commits",), True, None, id="context-not-in-the-same-line"),
        pytest.param("4", ("nothing", "slack"), True, "4", id="context-in-the-same-line"),
        pytest.param("12", ("linear",), True, "12", id="line-of-the-second-occurrence"),
        pytest.param("12", ("threads",), True, None, id="line-between"),
        pytest.param("12", ("sentry",), False, None, id="context-missing"),
        pytest.param("13", ("commits",), False, None, id="number-missing"),
    ],
)
def test_ground(value: str, context: tuple[str, ...], same_line: bool, expected: str | None) -> None:
    assert cut(REPORT, ground(REPORT, value, context, same_line)) == expected


def test_grounded_in_the_line_of_the_number() -> None:
    assert ground(REPORT, "12", ("linear",), same_line=True) == (45, 47)


@given(prose, st.integers(0, 10**12), prose)
def test_a_number_between_spaces_is_found(before: str, number: int, after: str) -> None:
    assume(not before.endswith(("hundred", "-")))
    text = f"x{before} {number} ,{after}"
    assert cut(text, first(text, str(number))) == str(number)
    assert cut(text, first(text, f"{number:,}")) == str(number)


@given(st.integers(0, 10**12), st.sampled_from(",' \xa0\u2009\u202f\u066c"))
def test_a_grouped_number_is_the_whole_number_alone(number: int, separator: str) -> None:
    grouped = f"{number:,}".replace(",", separator)
    assert cut(grouped, first(grouped, str(number))) == grouped
    if number > 999:
        assert first(grouped, grouped.split(separator)[0]) is None


@given(prose, st.integers(0, 10**12), st.integers(0, 9), st.booleans(), prose)
def test_a_number_with_one_more_digit_is_another(before: str, number: int, extra: int, front: bool, after: str) -> None:
    longer = f"{extra}{number}" if front else f"{number}{extra}"
    assert first(f"x{before} {longer} ,{after}", str(number)) is None


@given(st.text(max_size=40), st.text(max_size=10))
def test_any_text_and_value_can_be_searched(text: str, value: str) -> None:
    span = first(text, value)
    assert span is None or 0 <= span[0] < span[1] <= len(text)


@given(st.text("0123456789.,:/'-$%kex \xa0\u202f\n()_", max_size=30), st.integers(0, 20))
def test_what_is_found_reads_as_the_number(text: str, number: int) -> None:
    span = first(text, str(number))
    if span is not None:
        written = text[slice(*span)]
        assert float(written) == number
        assert not text[span[1] :][:1].isdigit()
        assert not text[: span[0]][-1:].isdigit()
