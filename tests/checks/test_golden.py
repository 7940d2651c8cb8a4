"""Which answers tell of an allocation made, and which of one refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carob.checks.effects.allocation import AllocationValid, indicators
from carob.checks.sample_traces import calls, says
from carob.model.verdict import Status
from carob.text.words import PUBLISHED

SUCCESS = PUBLISHED.entries("success_indicator")
NEGATED = (
    "It was not (yet) allocated.",
    "Vehicle 42 has not been allocated.",
    "It was not successfully allocated.",
    "The vehicle wasn't allocated.",
    "The vehicle wasn’t allocated.",
    "No vehicle was allocated.",
    "Dyno 3 isn't available.",
    "Dyno 3 is not currently available.",
    "Dyno 3 is no longer available.",
    "Status: not-available",
    "The slot is non-available.",
    "Vehicle 42 stays un-allocated.",
    "It was not pre-booked.",
    "There are zero slots available.",
    "Nothing was booked.",
    "It was never scheduled.",
    "I haven't booked it",
    "No slot found",
    "I found no vehicle 42.",
    "I found nothing.",
    "Found 0 dynos.",
    "I have allocated no vehicle.",
    "Neither dyno is available.",
    "None of the requested slots are available.",
    "No vehicle matching your request was found.",
    "No suitable dyno with AWD support is currently available.",
    "No maintenance bay is available.",
    "I don't think it was booked.",
    "The day passed without it being booked.",
    "It cannot be booked.",
    "It could not be allocated or reserved.",
    "It was not found or booked.",
    "We failed to get it booked.",
    "It was **not** allocated.",
    "It was _not_ allocated.",
    "It was not, unfortunately, allocated.",
    "Vehicle 42 has not been\nallocated.",
    "Vehicle 42 was not\r\nallocated.",
    "Warnings: none\nvehicle 42 was not allocated.",
    "I found\nno vehicle 42.",
    "success: false",
    '{"success":false,"vehicle":42}',
    '{"allocated": false}',
    "allocated=false",
    "Allocated: No",
    "Allocated: No\nReason: full",
    "Available dynos: 0",
    "Available: none",
    "| Allocated | No |",
    "Booked? No.",
)

MADE = (
    "No conflicts. Vehicle 42 is allocated to dyno 3.",
    "It was not only allocated but confirmed.",
    "Not a problem: booked.",
    "No problem, booked.",
    "No problem - booked.",
    "No problem—booked.",
    "Allocated, no maintenance needed",
    "No other dyno was needed; allocated.",
    "It is not far but booked.",
    "No issues were found, so it is booked.",
    "I found no issues and booked it.",
    "Issues found: none. Allocated.",
    "No other vehicle is booked, so vehicle 42 is allocated.",
    "It does not overlap with any reserved slot: allocated.",
    "Vehicle 42 was without conflicts allocated.",
    "Warnings: 0\nallocated: true",
    "- Warnings: none\n- Allocated: yes",
    "No changes\n\nallocated",
    "**Allocated**\nWarnings: 0",
    "Allocated: no further action needed.",
    "Booked: No. 42",
    "There is no doubt it is booked.",
    "Don't worry it's booked.",
    "Vehicle no 42 is available.",
    "Dyno 0 is available.",
    "The slot at 10:00 is available.",
    "I found 10 dynos.",
    "success: true",
)


@pytest.mark.parametrize("answer", NEGATED)
def test_a_negated_success_is_a_failure(answer: str) -> None:
    assert AllocationValid(True).judge(says(answer)).status is Status.FAILED
    assert AllocationValid(False).judge(says(answer)).status is Status.PASSED


@pytest.mark.parametrize("answer", MADE)
def test_a_negation_of_something_else_is_none(answer: str) -> None:
    assert AllocationValid(True).judge(says(answer)).status is Status.PASSED
    assert AllocationValid(False).judge(says(answer)).status is Status.FAILED


@pytest.mark.parametrize("answer", ["No issues were found.", "I found no overlaps."])
def test_good_news_alone_is_no_allocation(answer: str) -> None:
    spans = indicators(answer, (), (), PUBLISHED, expect_success=True)
    assert spans.failure is None


def test_words_of_the_suite_are_negated_too() -> None:
    check = AllocationValid(True, success_indicators=("granted",), failure_indicators=("declined",))
    assert check.judge(says("The bay was granted.")).status is Status.PASSED
    assert check.judge(says("Bay 1 was granted. Bay 2 was not yet granted.")).status is Status.FAILED


def test_words_of_failure_of_the_suite_are_the_only_ones() -> None:
    check = AllocationValid(False, failure_indicators=("declined",))
    assert check.judge(says("Declined: nothing was booked.")).status is Status.PASSED
    assert check.judge(says("Nothing was booked.")).status is Status.FAILED


def test_a_negator_is_a_whole_word_however_far_back_it_stands() -> None:
    for width in range(100, 130):
        text = "a knot" + " " + "x" * width + " booked"
        assert indicators(text, (), (), PUBLISHED, expect_success=True).failure is None


@given(
    st.sampled_from(["was not", "wasn't", "was never", "has not been", "is no longer", "cannot be"]),
    st.lists(st.sampled_from(["yet", "currently", "fully", "quite"]), max_size=2),
    st.sampled_from(SUCCESS),
)
def test_a_negator_before_any_word_of_success_negates_it(negator: str, between: list[str], word: str) -> None:
    text = " ".join(["It", negator, *between, word])
    spans = indicators(text, (), (), PUBLISHED, expect_success=False)
    assert spans.failure or spans.denied
    assert spans.success is None


@given(
    st.sampled_from(["not", "no issue here", "never"]),
    st.sampled_from(".;:!?,"),
    st.sampled_from(SUCCESS),
)
def test_a_negation_ends_with_its_clause(negation: str, end: str, word: str) -> None:
    spans = indicators(f"Perhaps {negation}{end} it is {word}.", (), (), PUBLISHED, expect_success=True)
    assert spans.success is not None
    assert spans.failure is None
    assert spans.denied is None


def test_a_tool_of_tools_used_whose_last_call_failed_is_no_allocation() -> None:
    check = AllocationValid(True, tools=("find", "book"))
    assert check.judge(calls("find:ok book:ok", text="Booked.")).status is Status.PASSED
    assert check.judge(calls("find:ok book:failed", text="Booked.")).status is Status.FAILED
    assert check.judge(calls("find:ok book:failed book:ok", text="Booked.")).status is Status.PASSED
    assert check.judge(calls("find:ok book:ok book:failed", text="Booked.")).status is Status.FAILED


def test_a_refusal_needs_that_no_such_call_succeeded_and_a_word_of_failure() -> None:
    assert AllocationValid(False).judge(calls("book:ok", text="It is unavailable.")).status is Status.FAILED
    assert AllocationValid(False).judge(calls("book:failed", text="It is over the limit.")).status is Status.UNKNOWN
    assert AllocationValid(False).judge(calls("book:failed", text="It is unavailable.")).status is Status.PASSED
    after_lookup = calls("find:ok", text="It is unavailable.")
    assert AllocationValid(False).judge(after_lookup).status is Status.FAILED
    assert AllocationValid(False, effects=("book_*",)).judge(after_lookup).status is Status.PASSED
