from __future__ import annotations

import random
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carob.model.sequential import SequentialTest
from carob.model.verdict import CaseStatus
from carob.reports.run_facts import repeats
from carob.scoring.intervals import clopper_pearson
from carob.scoring.tally import Contribution, Tally, case_status, is_flaky, is_lost

PASS, FAIL, PARTIAL, ERROR, SKIP, XFAIL = CaseStatus


@pytest.mark.parametrize(
    ("passed", "total", "low", "high"),
    [
        pytest.param(0, 0, 0.0, 1.0, id="nothing-is-known"),
        pytest.param(0, 1, 0.0, 0.975, id="one-failed"),
        pytest.param(1, 1, 0.025, 1.0, id="one-passed"),
        pytest.param(2, 2, 0.1581, 1.0, id="two-of-two"),
        pytest.param(12, 12, 0.7354, 1.0, id="twelve-of-twelve"),
        pytest.param(81, 263, 0.2527, 0.3676, id="of-the-literature"),
    ],
)
def test_clopper_pearson_interval(passed: int, total: int, low: float, high: float) -> None:
    assert tuple(round(end, 4) for end in clopper_pearson(passed, total)) == (low, high)


@given(st.integers(0, 500), st.integers(1, 500))
def test_the_interval_holds_the_rate_and_is_symmetric(passed: int, total: int) -> None:
    passed = min(passed, total)
    low, high = clopper_pearson(passed, total)
    assert 0 <= low <= passed / total <= high <= 1
    assert low == pytest.approx(1 - clopper_pearson(total - passed, total)[1])


@pytest.mark.parametrize(
    ("statuses", "rate", "status"),
    [
        pytest.param([PASS] * 3, None, PASS, id="all-passed"),
        pytest.param([PASS, PASS, FAIL], None, FAIL, id="all-must-pass"),
        pytest.param([PASS, PASS, PARTIAL], None, PARTIAL, id="partial"),
        pytest.param([PASS, PARTIAL, FAIL], None, FAIL, id="a-failure-outweighs-a-partial"),
        pytest.param([PASS, PASS, FAIL], 0.6, PASS, id="enough-passed"),
        pytest.param([PASS, FAIL, FAIL], 0.6, FAIL, id="too-few-passed"),
        pytest.param([PASS, PARTIAL, PARTIAL], 0.6, PARTIAL, id="too-few-but-none-failed"),
        pytest.param([PASS, PASS, PASS, ERROR], 0.5, ERROR, id="an-error-is-never-outvoted"),
        pytest.param([PASS] * 7 + [FAIL] * 18, 0.28, PASS, id="a-rate-that-binary-cannot-hold"),
        pytest.param([PASS] * 6 + [FAIL] * 19, 0.28, FAIL, id="one-fewer"),
        pytest.param([PASS], 1.0, PASS, id="once"),
        pytest.param([FAIL, FAIL], 1e-10, FAIL, id="over-zero-is-at-least-one"),
    ],
)
def test_status_over_repeats(statuses: list[CaseStatus], rate: float | None, status: CaseStatus) -> None:
    assert case_status(Counter(statuses), rate) is status


@given(st.integers(1, 60), st.integers(0, 60), st.decimals(Decimal("0.01"), 1, places=2))
def test_a_rate_means_what_it_says_in_decimals(total: int, passed: int, rate: Decimal) -> None:
    passed = min(passed, total)
    interval = case_status(Counter({PASS: passed, FAIL: total - passed}), float(rate))
    assert (interval is PASS) == (Fraction(passed, total) >= Fraction(rate))


@pytest.mark.parametrize(
    ("statuses", "rate", "lost"),
    [
        pytest.param([], None, False, id="nothing-yet"),
        pytest.param([PASS, PASS], None, False, id="all-passed"),
        pytest.param([PASS, FAIL], None, True, id="all-must-pass"),
        pytest.param([ERROR], 0.1, True, id="an-error-is-never-outvoted"),
        pytest.param([FAIL, FAIL], 0.5, False, id="two-of-four-may-still-pass"),
        pytest.param([FAIL, FAIL, PASS], 0.5, False, id="the-last-decides"),
        pytest.param([FAIL, PASS, FAIL, FAIL], 0.5, True, id="the-last-decided"),
        pytest.param([FAIL, PARTIAL, PARTIAL], 0.5, True, id="partial-runs-do-not-help"),
        pytest.param([PARTIAL] * 3, None, False, id="partial-is-no-failure"),
    ],
)
def test_a_case_of_four_runs_is_lost(statuses: list[CaseStatus], rate: float | None, lost: bool) -> None:
    assert is_lost(Counter(statuses), rate, 4) is lost


@given(
    st.lists(st.sampled_from(list(CaseStatus)), max_size=6), st.none() | st.sampled_from([0.1, 0.28, 0.5, 0.75, 1.0])
)
def test_lost_is_what_no_further_run_can_save(statuses: list[CaseStatus], rate: float | None) -> None:
    saved = [*statuses, *[PASS] * (6 - len(statuses))]
    assert is_lost(Counter(statuses), rate, 6) == (case_status(Counter(saved), rate) in (FAIL, ERROR))


@pytest.mark.parametrize(
    ("statuses", "flaky"),
    [
        ([PASS, FAIL], True),
        ([PASS, PASS], False),
        ([FAIL, FAIL], False),
        ([PASS, ERROR], False),
        ([PASS, PARTIAL], False),
        ([PARTIAL, FAIL], False),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else str(value),
)
def test_flaky_is_what_both_passed_and_failed(statuses: list[CaseStatus], flaky: bool) -> None:
    assert is_flaky(Counter(statuses)) is flaky


def test_a_summary_over_repeats() -> None:
    tally = Tally(3)
    for index, statuses in enumerate([(PASS, PASS, PASS), (PASS, FAIL, PASS), (FAIL, FAIL, FAIL), (PASS, ERROR, PASS)]):
        for status in statuses:
            tally.add(index, Contribution(status))
    summary = tally.summary()
    assert (summary.passed, summary.failed, summary.error, summary.total) == (1, 2, 1, 4)
    assert (summary.pass_all, summary.pass_any, summary.flaky, summary.runs) == (0.25, 0.75, 1, 12)


@pytest.mark.parametrize(
    ("cases", "shares"),
    [
        pytest.param([(PASS, PASS, PASS), (PASS, FAIL)], (1.0, 1.0), id="the-whole-one-counts"),
        pytest.param([(PASS, FAIL, FAIL), (PASS,)], (0.0, 1.0), id="the-other-would-have-helped"),
        pytest.param([(PASS, PASS), (PASS,)], (None, None), id="none-is-whole"),
    ],
)
def test_shares_are_of_cases_without_a_missing_run(
    cases: list[tuple[CaseStatus, ...]], shares: tuple[float | None, float | None]
) -> None:
    tally = Tally(3)
    for index, statuses in enumerate(cases):
        for status in statuses:
            tally.add(index, Contribution(status))
    summary = tally.summary()
    assert (summary.pass_all, summary.pass_any) == shares


def test_one_run_of_each_case_has_no_repeats() -> None:
    tally = Tally()
    tally.add(0, Contribution(PASS, 1.0))
    summary = tally.summary()
    assert (summary.pass_all, summary.pass_any, summary.runs, summary.repeat) == (None, None, 0, 1)


@given(st.lists(st.tuples(st.sampled_from(list(CaseStatus)), st.none() | st.floats(0, 1)), max_size=60), st.randoms())
def test_the_order_of_records_does_not_matter(
    records: list[tuple[CaseStatus, float | None]], chance: random.Random
) -> None:
    def summed(order: list[int]) -> object:
        tally = Tally(2)
        for place in order:
            status, soft = records[place]
            tally.add(place // 2, Contribution(status, soft if soft is None else round(soft, 9), 0.5))
        return tally.summary()

    order = list(range(len(records)))
    shuffled = order[:]
    chance.shuffle(shuffled)
    assert summed(shuffled) == summed(order)


def test_errors_do_not_count_towards_the_average() -> None:
    tally = Tally()
    tally.add(0, Contribution(PASS, 0.5))
    tally.add(1, Contribution(ERROR, 0.0))
    assert tally.summary().avg_soft_score == 0.5


@pytest.mark.parametrize(
    ("runs", "until", "says"),
    [
        ([2, 2], None, "2 repeats: 100% of cases passed each time (pass^2), 100% at least once (pass@2), 0 flaky"),
        ([16, 16], SequentialTest(), "32 runs, 16 of each case, 68 of 100 saved (68%); all decided, 0 flaky"),
        ([16, 20], SequentialTest(), "36 runs, 16 to 20 of each case, 64 of 100 saved (64%); all decided, 0 flaky"),
    ],
)
def test_what_was_run_is_said_and_not_what_might_have_been(
    runs: list[int], until: SequentialTest | None, says: str
) -> None:
    tally = Tally(50 if until else 2, until)
    for index, number in enumerate(runs):
        for _ in range(number):
            tally.add(index, Contribution(CaseStatus.PASS))
    assert repeats(tally.summary()) == says


def test_a_rate_knows_its_clusters_and_leaves_skipped_cases_out() -> None:
    tally = Tally()
    for index, status in enumerate([CaseStatus.PASS] * 10 + [CaseStatus.FAIL, CaseStatus.SKIP, CaseStatus.XFAIL]):
        tally.add(index, Contribution(status, cluster="one" if index < 10 else ""))
    found = tally.summary()
    assert (found.passed, found.judged, found.clusters) == (10, 11, 2)
    apart = Tally()
    for index in range(11):
        apart.add(index, Contribution(CaseStatus.PASS if index < 10 else CaseStatus.FAIL))
    assert found.rate_low < apart.summary().rate_low, "ten variants prove less than ten cases"


def test_skipped_cases_and_known_failures_are_in_no_share_of_repeats() -> None:
    tally = Tally(2)
    for index, status in enumerate((CaseStatus.PASS, CaseStatus.FAIL, CaseStatus.SKIP, CaseStatus.XFAIL)):
        for _ in range(2):
            tally.add(index, Contribution(status))
    summary = tally.summary()
    assert (summary.pass_all, summary.pass_any, summary.judged) == (0.5, 0.5, 2)
