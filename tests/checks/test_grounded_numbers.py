"""Which numbers of an answer are claims, what they may rest on, and what is derived from it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from carob.checks.numbers.grounded import GroundedNumbers
from carob.checks.numbers.required import MustGroundNumber
from carob.model.trace import TextLoss, ToolCall, Trace
from carob.model.verdict import Status
from carob.text.numbers.claimed import stated_numbers

SALES = {
    "week": 46,
    "total": 1234.56,
    "share": 0.25,
    "by_country": {"fr": 3, "de": 4},
    "rows": [
        {"day": "Mon", "orders": 5, "state": "paid", "id": "A-99"},
        {"day": "Tue", "orders": 12, "state": "open", "id": "A-98"},
        {"day": "Wed", "orders": 30, "state": "paid", "id": "A-97"},
    ],
}
FIVE = "There are 5 of them now."
P, F, U = Status.PASSED, Status.FAILED, Status.UNKNOWN


def reply(text: str, result: Any = SALES, prompt: str = "How were sales?", **more: Any) -> Trace:
    calls = () if result is None else (ToolCall("sales", {"limit": 77}, result=result, success=True),)
    return Trace(case_id="A", input=prompt, final_message=text, tool_calls=calls, **more)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("12 commits, $3.50 and 40%", ["12", "3.50", "40"]),
        ("on 2026-11-16, 16 November 2026, Nov 16 and November 2026, at 10:12 or 3 pm", []),
        ("in 2026, since 2019 (2020), Q3 2026", []),
        ("2026 sessions and a total of 2000 users", ["2026", "2000"]),
        ("order 4711, ticket #88, issue no. 7, step 3 and the 3rd one", []),
        ("1. first\n2) second\n- 3. third", []),
        ("A-17, v1.2.3, 0x12, dpl_8F, 192.168.0.1, /12", []),
        ("12k, 1.5 million, 2bn", ["12000", "1500000", "2000000000"]),
        ("1,200 and -5", ["1200", "-5"]),
        ("<!-- 12 -->7", ["7"]),
        ("Orders: 12, tickets 3", ["12", "3"]),
        (
            "twenty-five, two hundred and five thousand; one of the two, 3 hundred",
            ["25", "205000", "300"],
        ),
    ],
)
def test_numbers_that_are_claims(text: str, values: list[str]) -> None:
    assert [one.value for one in stated_numbers(text)] == [Decimal(value) for value in values]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        pytest.param("12 orders on Tuesday", P, id="a-value"),
        pytest.param("13 orders on Tuesday", F, id="off-by-one"),
        pytest.param("77 orders", F, id="arguments-are-the-agents-own"),
        pytest.param("1,234.56 in all, about 1,200", P, id="hedged"),
        pytest.param("1,200 in all", F, id="rounded-without-a-word"),
        pytest.param("1,235 in all, or 1.2k", P, id="rounded-as-written"),
        pytest.param("1,236 in all", F, id="rounded-wrongly"),
        pytest.param("25% of it", P, id="a-fraction-as-a-percentage"),
        pytest.param("3 days, 2 of them paid", P, id="counts"),
        pytest.param("47 orders, 35 paid", P, id="sums"),
        pytest.param("48 orders", F, id="a-wrong-sum"),
        pytest.param("99 left", F, id="a-name-is-no-number"),
        pytest.param("in all one thousand two hundred and thirty-six", F, id="a-wrong-number-in-words"),
        pytest.param("zwölfhundert", U, id="words-that-are-not-read"),
        pytest.param("6 days", F, id="no-sum-of-counts"),
        pytest.param("7 countries", P, id="the-sum-of-members"),
        pytest.param("7 more on Tuesday than on Monday", P, id="a-difference"),
        pytest.param("140% more on Tuesday", P, id="a-change"),
        pytest.param("40% of Wednesday's were Tuesday's", P, id="a-share"),
        pytest.param("41% of Wednesday's were Tuesday's", F, id="a-wrong-share"),
        pytest.param("15.67 on average", F, id="an-average-is-none-of-these"),
        pytest.param("No number here.", P, id="none"),
        pytest.param("12 Millionen", U, id="not-read"),
    ],
)
def test_what_a_number_rests_on(text: str, status: Status) -> None:
    assert GroundedNumbers().judge(reply(text)).status is status


@pytest.mark.parametrize(("text", "status"), [("5 of 20 are sold, 25%.", P), ("5 of 20 are sold, 400%.", F)])
def test_a_part_is_a_share_of_its_whole_and_not_the_whole_of_its_part(text: str, status: Status) -> None:
    assert GroundedNumbers().judge(reply(text, {"sold": "5 cars", "all": "of 20 cars"})).status is status


@pytest.mark.parametrize(
    ("trace", "status"),
    [
        pytest.param(reply("You asked for 5.", None, "Give me 5"), P, id="the-users-own"),
        pytest.param(reply("It is 5.", None), F, id="from-nowhere"),
        pytest.param(reply("It is 5.", {"n": "about 5 pieces"}), P, id="in-a-text"),
        pytest.param(reply("It is 5.", '{"n": 5}'), P, id="json-as-text"),
        pytest.param(reply("It is 5.", None, unobserved={"tools": "not seen"}), U, id="tools-not-seen"),
        pytest.param(reply("It is 5.", None, unobserved={"page": "not seen"}), U, id="page-not-seen"),
        pytest.param(reply("It is 5.", None, page='- region "Five":\n  - text: 5 pieces\n'), P, id="on-the-page"),
        pytest.param(reply(FIVE, None, page=f'- log:\n  - text: "{FIVE}"\n'), F, id="in-the-log"),
        pytest.param(reply(FIVE, None, page=f'- text: "{FIVE}"\n'), F, id="as-the-answer"),
        pytest.param(reply("You have seven orders.", {"n": 6}, "How many open orders are there?"), F, id="asked-for"),
        pytest.param(reply("You have six orders.", {"n": 6}, "How many open orders are there?"), P, id="asked-and-so"),
        pytest.param(reply("Four new messages came.", {"messages": ["a", "b"]}), F, id="counted-in-a-word"),
        pytest.param(reply("Two of your three tasks are new.", {"tasks": [{"s": "new"}, {"s": "new"}, {"s": "old"}]}),
                     P, id="counts-in-words"),
        pytest.param(reply("One of them takes two steps in three ways.", {"messages": ["a"]}), P, id="no-claims"),
        pytest.param(reply("It is 5", {"n": 5}, cuts={"final_message": TextLoss("a part")}), U, id="cut"),
        pytest.param(
            Trace(case_id="A", final_message="It is 5.", tool_calls=(ToolCall("a", unfinished=True, started=False),)),
            F,
            id="asked-for-only",
        ),
    ],
)  # fmt: skip
def test_where_a_number_may_come_from(trace: Trace, status: Status) -> None:
    assert GroundedNumbers().judge(trace).status is status


def test_a_failure_names_every_number_that_rests_on_nothing() -> None:
    result = GroundedNumbers().judge(reply("12 orders, 13 visits and 14 pages"))
    assert result.found == "no source for 13, 14"
    assert result.at is not None
    assert (result.at.start, result.at.end) == (11, 13)
    assert GroundedNumbers((13, 14)).judge(reply("12 orders, 13 visits and 14 pages")).status is P


def test_a_pass_names_the_derivation() -> None:
    found = GroundedNumbers().judge(reply("47 orders in all, 7 more on Tuesday")).found
    assert found == ("47 is the sum of sales.rows[*].orders; 7 is the sum of sales.by_country")


@pytest.mark.parametrize(
    ("path", "text", "status"),
    [
        ("$.total", "It is 1,234.56.", P),
        ("$.total", "It is 1234.6.", P),
        ("$.total", "It is 1235.56.", F),
        ("$.rows[*].orders", "5, 12 and 30", P),
        ("$.rows[*].orders", "5, 12 and 31", F),
        ("$.rows", "5, 12 and 30", F),
        ("$.rows[?@.day == 'Tue'].orders", "12 on Tuesday", P),
        ("$.none", "12", F),
    ],
)
def test_what_a_tool_gave_must_be_stated(path: str, text: str, status: Status) -> None:
    assert MustGroundNumber(from_tool="sales", at=path).judge(reply(text)).status is status


def test_the_last_result_of_a_tool_counts() -> None:
    calls = tuple(ToolCall("sales", {}, result={"n": n}, success=True) for n in (5, 6))
    for text, status in (("It is 6.", P), ("It is 5.", F)):
        trace = Trace(case_id="A", final_message=text, tool_calls=calls)
        assert MustGroundNumber(from_tool="sales", at="$.n").judge(trace).status is status
