"""Which numbers of a text are amounts, in every notation, and that their tokens have no gaps."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carob.text.numbers.claimed import numbers_in, stated_numbers
from carob.text.numbers.tokens import all_numbers, canonical
from carob.text.words import PUBLISHED, published_lists

SPACES = " \xa0\u2007\u2009\u202f"
amounts = st.integers(1000, 10**12)
cents = st.integers(0, 99)


def values(text: str) -> list[Decimal]:
    return [number.value for number in stated_numbers(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 985,52 €", ["1985.52"]),
        ("-$12 and -€3.50", ["-12", "-3.50"]),
        ("US$12, R$ 5, EUR1985, 12EUR", ["12", "5", "1985", "12"]),
        ("EUROPE12, XEUR12", []),
        ("$12m, €3b, 12m deep, 3bn", ["12000000", "3000000000", "12", "3000000000"]),
        ("12 T-shirts, 12 T", ["12", "12000000000000"]),
        ("3 dozen", ["36"]),
        ("1.2万円 3億元 2百万", ["12000", "300000000", "2000000"]),
        ("残高は1,985円、前月は2,010円です", ["1985", "2010"]),
        ("12 1/2, 12½, ¾ and 1⅓", ["12.5", "12.5", "0.75", "1.33"]),
        ("45/60 passed, on 5/20, 24/7, 50/50", ["45", "60"]),
        ("June 16-30, 2026; 4-6 June; May 19th and 20th, 2024; June 28 to July 3", []),
        ("on May 5 and 12 orders", ["12"]),
        ("16. Juni 2026, le 3 mars, 2026年6月16日, 2023-2024", []),
        ("8 to 10 a.m., 11 p.m., 9-11 am, 12 Uhr, UTC+2", []),
        ("your 401(k) and section 12(b)", []),
        ("run 48,200 km, run 4711, order 5 items", ["48200", "5"]),
        ("Report:\\n42 items\\t7 late", ["42", "7"]),
    ],
)
def test_amounts(text: str, expected: list[str]) -> None:
    assert values(text) == [Decimal(one) for one in expected]


@pytest.mark.parametrize("text", ["3億2000万", "12 Millionen", "1/3 of the orders", "zwölfhundert"])
def test_what_is_not_understood_is_unread(text: str) -> None:
    assert any(one.unread or one.doubtful for one in stated_numbers(text))


@given(amounts, cents, st.sampled_from(SPACES))
def test_spaces_group_and_a_comma_begins_the_fraction(whole: int, part: int, space: str) -> None:
    written = f"{whole:,}".replace(",", space) + f",{part:02d}"
    assert values(f"Total: {written} €") == [Decimal(f"{whole}.{part:02d}")]


@given(amounts, cents)
def test_points_group_and_a_comma_begins_the_fraction(whole: int, part: int) -> None:
    written = f"{whole:,}".replace(",", ".") + f",{part:02d}"
    assert values(f"Total: {written} €") == [Decimal(f"{whole}.{part:02d}")]


def indian(number: int) -> str:
    head, tail = divmod(number, 1000)
    groups = []
    while head:
        head, group = divmod(head, 100)
        groups.append(f"{group:02d}" if head else str(group))
    return ",".join((*reversed(groups), f"{tail:03d}"))


@given(st.integers(100_000, 10**11), cents)
def test_indian_groups(whole: int, part: int) -> None:
    assert values(f"₹{indian(whole)}.{part:02d}") == [Decimal(f"{whole}.{part:02d}")]


@given(st.integers(0, 10**9), st.sampled_from(PUBLISHED.entries("currency_codes")))
def test_a_currency_joins_before_and_behind(number: int, code: str) -> None:
    assert values(f"It is {code}{number}.") == [number]
    assert values(f"It is {number:,} {code}.") == [number]


@given(st.integers(1, 999), st.integers(1, 11), st.integers(2, 12))
def test_a_mixed_number_is_one(whole: int, over: int, under: int) -> None:
    stated = values(f"It took {whole} {over}/{under} hours")
    if over < under:
        assert len(stated) == 1
        assert abs(stated[0] - (whole + Decimal(over) / under)) <= Decimal("0.005")
    else:
        assert whole in stated or stated == []


@given(st.integers(0, 10**6))
def test_unspaced_scripts_do_not_hide_a_number(number: int) -> None:
    assert values(f"合計は{number:,}円です") == [number]
    assert Decimal(number) in numbers_in(f"총{number}원")


@given(st.text("0123456789.,:/'-$%kmM½ \xa0\u202f\n()€円万", max_size=30))
def test_tokens_are_in_order_and_within_the_text(text: str) -> None:
    last = 0
    for value, number in all_numbers(text):
        assert last <= number.start < number.end <= number.tail <= len(text)
        assert canonical(value) == value
        last = number.end
    for one in stated_numbers(text):
        assert 0 <= one.span[0] < one.span[1] <= len(text)


@given(st.text(max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    assert all(one.step > 0 for one in stated_numbers(text))
    assert all(number.is_finite() for number in numbers_in(text))


def test_every_list_is_explained() -> None:
    every = published_lists().values()
    assert [one.name for one in every if not one.about.endswith(".") or len(set(one.entries)) < len(one.entries)] == []
