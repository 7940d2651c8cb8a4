"""Which answers tell of an allocation made, and which of one refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.checks.golden import AllocationValid
from karat.checks.indicators import FAILURE, SUCCESS, indicators
from karat.checks.sample_traces import calls, says
from karat.model.verdict import Status
from karat.text.prose.claims import claim

NEGATED = (
    "Vehicle 42 has not been allocated.",
    "It was not successfully allocated.",
    "The vehicle wasn't allocated.",
    "The vehicle wasn’t allocated.",
    "The vehicle wasnt allocated.",
    "No vehicle was allocated.",
    "Dyno 3 isn't available.",
    "Dyno 3 is not currently available.",
    "Dyno 3 is no longer available.",
    "Status: not-available",
    "The slot is non-available.",
    "Vehicle 42 stays un-allocated.",
    "It was not pre-booked.",
    "0 dynos available",
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
    "It was not (yet) allocated.",
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
    "Booked no problem.",
    "Allocated, no maintenance needed",
    "No other dyno was needed; allocated.",
    "No action needed (booked).",
    "It is not far but booked.",
    "No weekend work is due and vehicle 42 is allocated.",
    "No issues were found, so it is booked.",
    "I found no issues and booked it.",
    "Issues found: none. Allocated.",
    "No other vehicle is booked, so vehicle 42 is allocated.",
    "It does not overlap with any reserved slot: allocated.",
    "Vehicle 42 was without conflicts allocated.",
    "A vehicle without AWD is allocated.",
    "Warnings: 0\nallocated: true",
    "- Warnings: none\n- Allocated: yes",
    "No changes\n\nallocated",
    "**Allocated**\nWarnings: 0",
    "allocated\nno weekend work",
    "Allocated: no further action needed.",
    "Booked: No. 42",
    "Booked no later than 5 pm.",
    "There is no doubt it is booked.",
    "Don't worry it's booked.",
    "Whether or not it rains it is booked.",
    "Vehicle no 42 is available.",
    "Dyno 0 is available.",
    "The slot at 10:00 is available.",
    "I found 10 dynos.",
    "Is it booked? Yes.",
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
    assert not indicators(answer, SUCCESS, FAILURE).keys() & {"success", "failure"}


def test_words_of_the_suite_are_negated_too() -> None:
    check = AllocationValid(True, success_indicators=("granted",), failure_indicators=("declined",))
    assert check.judge(says("The bay was granted.")).status is Status.PASSED
    assert check.judge(says("Bay 1 was granted. Bay 2 was not yet granted.")).status is Status.FAILED


def test_words_of_failure_of_the_suite_are_the_only_ones() -> None:
    check = AllocationValid(False, failure_indicators=("declined",))
    assert check.judge(says("Declined: nothing was booked.")).status is Status.PASSED
    assert check.judge(says("Nothing was booked.")).status is Status.FAILED


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        pytest.param("Dyno “3” isn’t  available.", "isn’t  available", id="before"),
        pytest.param('{"allocated":  false}', 'allocated":  false', id="value"),
        pytest.param("I found no vehicle.", "found no vehicle", id="behind"),
    ],
)
def test_the_negation_is_pointed_at_as_written(answer: str, failure: str) -> None:
    span = indicators(answer, SUCCESS, FAILURE)["failure"]
    assert answer[slice(*span)] == failure


def test_a_negator_is_a_whole_word_however_far_back_it_stands() -> None:
    for width in range(100, 130):
        text = "a knot" + " " + "x" * width + " booked"
        assert "failure" not in indicators(text, SUCCESS, FAILURE)


@given(
    st.sampled_from(["was not", "wasn't", "was never", "has not been", "is no longer", "cannot be"]),
    st.lists(st.sampled_from(["yet", "currently", "fully", "quite"]), max_size=2),
    st.sampled_from(SUCCESS),
)
def test_a_negator_before_any_word_of_success_negates_it(negator: str, between: list[str], word: str) -> None:
    text = " ".join(["It", negator, *between, word])
    told = indicators(text, SUCCESS, FAILURE)
    assert "failure" in told
    assert "success" not in told


@given(st.sampled_from(["not", "no issue here", "never"]), st.sampled_from(".;:!?,"), st.sampled_from(SUCCESS))
def test_a_negation_ends_with_its_clause(negation: str, end: str, word: str) -> None:
    told = indicators(f"Perhaps {negation}{end} it is {word}.", SUCCESS, FAILURE)
    assert "success" in told
    assert "failure" not in told


@pytest.mark.parametrize(
    ("answer", "taken"),
    [
        ("All tables are booked.", True),
        ("Sorry, all tables are booked for Friday.", True),
        ("Every room is reserved.", True),
        ("All of our dynos are allocated on that day.", True),
        ("All your tables are booked.", False),
        ("All three tables are booked.", False),
        ("All tables are booked for you.", False),
        ("I booked all tables.", False),
    ],
)
def test_what_is_used_up_is_no_success_unless_a_call_made_it_so(answer: str, taken: bool) -> None:
    made = Status.FAILED if taken else Status.PASSED
    refused = Status.PASSED if taken else Status.FAILED
    assert AllocationValid(valid=True).judge(says(answer)).status is made
    assert AllocationValid(valid=False).judge(says(answer)).status is refused
    assert AllocationValid(valid=True).judge(calls("book:ok", text=answer)).status is Status.PASSED
    assert (claim(answer) is None) is taken
