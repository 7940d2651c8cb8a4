import re
from collections.abc import Sequence
from math import inf

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from carob.text.ages.stated import ages_by, doubtful_ages, stated_ages
from carob.text.ages.words import UNREAD
from carob.text.regexes.examples import example as example_of
from carob.text.regexes.lazy import holds_any, small_letters
from carob.text.words import PUBLISHED

SEED_REGEX = r"(?i)[0-9]{1,4}\s*(?:m|min|minute|minutes)"
HOUR, DAY = 60.0, 1440.0


@pytest.mark.parametrize(
    ("text", "minutes", "written"),
    [
        pytest.param("updated 12m ago", 12, "12m", id="m"),
        pytest.param("12 min", 12, "12 min", id="min"),
        pytest.param("90 mins.", 90, "90 mins", id="mins"),
        pytest.param("12 Minutes ago", 12, "12 Minutes", id="minutes"),
        pytest.param("30 seconds", 0.5, "30 seconds", id="seconds"),
        pytest.param("45s ago", 0.75, "45s", id="s"),
        pytest.param("(3h)", 3 * HOUR, "3h", id="h"),
        pytest.param("2 hours", 2 * HOUR, "2 hours", id="hours"),
        pytest.param("4 hrs", 4 * HOUR, "4 hrs", id="hrs"),
        pytest.param("1 day", DAY, "1 day", id="day"),
        pytest.param("5d", 5 * DAY, "5d", id="d"),
        pytest.param("2d ago", 2 * DAY, "2d", id="2d-ago"),
        pytest.param("2 weeks", 14 * DAY, "2 weeks", id="weeks"),
        pytest.param("3 months ago", 90 * DAY, "3 months", id="months"),
        pytest.param("1 year", 365 * DAY, "1 year", id="year"),
        pytest.param("1h 30m", 90, "1h 30m", id="sum"),
        pytest.param("1h30m", 90, "1h30m", id="sum-without-space"),
        pytest.param("1 hour and 30 minutes", 90, "1 hour and 30 minutes", id="sum-in-words"),
        pytest.param("1d, 2h, 3m", DAY + 2 * HOUR + 3, "1d, 2h, 3m", id="sum-of-three"),
        pytest.param("1.5 hours", 90, "1.5 hours", id="fraction"),
        pytest.param(".5 hours", 30, ".5 hours", id="bare-fraction"),
        pytest.param("1,440 minutes", 1440, "1,440 minutes", id="thousands"),
        pytest.param("a 12-minute-old copy", 12, "12-minute", id="hyphen"),
        pytest.param("10–12 minutes", 12, "12 minutes", id="range"),
        pytest.param("age:12m", 12, "12m", id="after-a-colon"),
        pytest.param("12\xa0min", 12, "12\xa0min", id="no-break-space"),
        pytest.param("“x”\r\n12 min", 12, "12 min", id="offsets-as-written"),
        pytest.param("9" * 400 + "m", 1e12, "9" * 400 + "m", id="absurd"),
        pytest.param("12m vs the bound", 12, "12m", id="no-plural-noun"),
        pytest.param("refreshed 400m across all", 400, "400m", id="no-plural-noun-either"),
        pytest.param("GitHub 3d stale.", 3 * DAY, "3d", id="3d-stale"),
        pytest.param("GitHub is 3d behind", 3 * DAY, "3d", id="3d-behind"),
        pytest.param("GitHub came 2d late", 2 * DAY, "2d", id="2d-late"),
        pytest.param("synced 2d before that", 2 * DAY, "2d", id="2d-before"),
        pytest.param("over 3d without new data", 3 * DAY, "3d", id="3d-without"),
        pytest.param("GitHub 3d and Slack", 3 * DAY, "3d", id="3d-and"),
        pytest.param("a 3d-old copy", 3 * DAY, "3d", id="3d-old"),
        pytest.param("GitHub 3dago", 3 * DAY, "3d", id="ago-without-space"),
        pytest.param("GitHub 3D ago", 3 * DAY, "3D", id="capital-d-ago"),
        pytest.param("GitHub 400M ago", 400, "400M", id="capital-m-ago"),
        pytest.param("GitHub 400M\nago", 400, "400M", id="ago-in-the-next-line"),
        pytest.param("GitHub 400\nminutes ago", 400, "400\nminutes", id="unit-in-the-next-line"),
        pytest.param("GitHub 4h15 ago", 255, "4h15", id="minutes-behind-the-hour"),
        pytest.param("GitHub 72h00", 3 * DAY, "72h00", id="more-hours-than-a-day-has"),
        pytest.param("GitHub 2d 4h15", 2 * DAY + 255, "2d 4h15", id="days-and-a-time"),
        pytest.param("GitHub 20,5h ago", 1230, "20,5h", id="comma-fraction-ago"),
        pytest.param("GitHub ４００m", 400, "４００m", id="full-width-digits"),
        pytest.param("GitHub: two hours behind", 2 * HOUR, "two hours behind", id="in-words-behind"),
        pytest.param("Slack ſynced two hours LATE", 2 * HOUR, "two hours LATE", id="in-words-late"),
        pytest.param("Die Zahlen: 3 Wochen alt", 21 * DAY, "3 Wochen alt", id="elsewhere"),
        pytest.param("GitHub ４００ｍ", 400, "４００ｍ", id="full-width-unit"),
        pytest.param("GitHub ٤٠٠ min", 400, "٤٠٠ min", id="arabic-digits"),
    ],
)
def test_age(text: str, minutes: float, written: str) -> None:
    (age,) = stated_ages(text)
    assert age.minutes == pytest.approx(minutes)
    assert text[slice(*age.span)] == written


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("12 mentions", id="spec-mentions"),
        pytest.param("12 mb", id="megabytes"),
        pytest.param("5 moments", id="moments"),
        pytest.param("3 monkeys", id="monkeys"),
        pytest.param("5 million", id="million"),
        pytest.param("12 m/s", id="speed"),
        pytest.param("12m users", id="millions-of-a-plural-noun"),
        pytest.param("12M", id="capital-m"),
        pytest.param("$12m", id="money"),
        pytest.param("3d chart", id="dimensions"),
        pytest.param("2D", id="dimensions-in-capitals"),
        pytest.param("the 90s", id="decade"),
        pytest.param("a moment", id="no-number"),
        pytest.param("v1.12m", id="version"),
        pytest.param("x12m", id="letter-before"),
        pytest.param("10:12 min", id="time"),
        pytest.param("1,5 hours", id="comma-fraction"),
        pytest.param("12\nminutes of the meeting", id="next-line"),
        pytest.param("12 m_x", id="identifier"),
        pytest.param("12 m\u200bentions", id="invisible-character-ends-no-word"),
        pytest.param("12 ſ or 5 mın", id="letters-that-only-fold-to-a-unit"),
        pytest.param("", id="empty"),
    ],
)
def test_no_age(text: str) -> None:
    assert stated_ages(text) == []


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        pytest.param("GitHub 400m sources", 400, id="plural-that-may-be-counted"),
        pytest.param("72h windows", 3 * DAY, id="plural-after-hours"),
        pytest.param("GitHub 4h15", 255, id="span-or-time-of-day"),
        pytest.param("1,5 hours", 90, id="comma-fraction"),
        pytest.param("a 3d GitHub feed", 3 * DAY, id="days-or-dimensions"),
        pytest.param("refreshed 400M", 400, id="capital-m-after-a-word-of-age"),
        pytest.param("400M behind plan", 400, id="capital-m-behind"),
        pytest.param("stale: 3D", 3 * DAY, id="capital-d-after-a-word-of-age"),
        pytest.param("The index is stale, if not a year.", inf, id="perhaps-in-two-words"),
    ],
)
def test_doubtful_age(text: str, minutes: float) -> None:
    assert stated_ages(text) == []
    (age,) = doubtful_ages(text)
    assert age.minutes == pytest.approx(minutes)


@pytest.mark.parametrize(
    "text",
    [
        "5m users",
        "400m people",
        "12 M revenue",
        "revenue of 400M",
        "$400m",
        "a 3D view",
        "2d chart",
        "a 3d-printed part",
        "The page is 3D now",
        "the 90s",
        "open until 14h30",
        "synced at 14h30",
        "12 mentions",
        "Commits: 400\nMinutes of the meeting",
        "400 mago",
        "12m ago",
        "2 hours",
    ],
)
def test_nothing_doubtful(text: str) -> None:
    assert doubtful_ages(text) == []


def test_ages_apart_stay_apart() -> None:
    text = "GitHub 5 min, Slack 3 hours; 10 min and 2 h; 4h\n20m"
    assert [age.minutes for age in stated_ages(text)] == [5, 180, 10, 120, 240, 20]


@pytest.mark.parametrize(
    ("pattern", "text", "minutes"),
    [
        pytest.param(SEED_REGEX, "as of 12 min, then 240m", [12, 240], id="seed"),
        pytest.param(r"age: .*", "age: about 7 of 9\nage: none", [7], id="first-number-of-each-match"),
        pytest.param(r"fresh", "fresh 12", [], id="no-number-in-the-match"),
        pytest.param(r"(?=12)", "12", [], id="zero-width"),
        pytest.param(r"\S+ minutes", "1,440.5 minutes", [1440.5], id="thousands"),
    ],
)
def test_ages_by_regex(pattern: str, text: str, minutes: list[float]) -> None:
    assert [age.minutes for age in ages_by(pattern, text)] == minutes


def test_ages_by_regex_are_pointed_at_as_written() -> None:
    text = "caf\u0065\u0301: 12 min"
    (age,) = ages_by(SEED_REGEX, text)
    assert text[slice(*age.span)] == "12 m"


def test_no_age_is_too_late_to_be_seen() -> None:
    text = "1m " * 20_000 + "999m"
    assert max(age.minutes for age in ages_by(SEED_REGEX, text)) == 999
    assert max(age.minutes for age in stated_ages(text)) == 999


@given(st.lists(st.integers(0, 9999), max_size=5), st.sampled_from(["m", " min", " minutes", "-minute"]))
def test_minutes_round_trip(numbers: list[int], unit: str) -> None:
    text = "; ".join(f"source is {number}{unit} old" for number in numbers)
    assert [age.minutes for age in stated_ages(text)] == numbers


@given(st.integers(0, 400), st.integers(0, 23), st.integers(0, 59))
def test_sums_round_trip(days: int, hours: int, minutes: int) -> None:
    (age,) = stated_ages(f"seen {days}d {hours}h {minutes}m ago")
    assert age.minutes == days * DAY + hours * HOUR + minutes


@given(
    st.integers(0, 9999),
    st.sampled_from(["m", "M", "h", "d", "D", "w", "min"]),
    st.sampled_from(["ago", "old", "stale"]),
)
def test_what_is_said_to_be_old_is_an_age(number: int, unit: str, word: str) -> None:
    (age,) = stated_ages(f"GitHub {number}{unit} {word}")
    assert age.minutes >= number


@pytest.mark.parametrize(("words", "pattern"), [(words, one) for words, one, _ in UNREAD if "" not in words])
def test_every_age_that_is_not_read_holds_a_word_of_its_pattern(words: Sequence[str], pattern: re.Pattern[str]) -> None:
    @settings(max_examples=4, database=None, suppress_health_check=[*HealthCheck])
    @given(st.from_regex(re.compile(pattern.pattern, pattern.flags)))
    def check(text: str) -> None:
        assert all(holds_any(small_letters(found[0]), words) for found in pattern.finditer(text))

    check()


def test_every_day_gone_holds_a_word_by_which_it_is_looked_for() -> None:
    entries = PUBLISHED.entries("days_gone_elsewhere")
    days = [text for entry in entries if (text := example_of(entry))]
    assert len(days) == len(entries)
    words = next(words for words, pattern, _ in UNREAD if all(map(pattern.search, days)))
    assert [day for day in days if not holds_any(small_letters(day), words)] == []


@given(st.text(max_size=40) | st.text("0123456789.,:/- mhdswyMD\nando", max_size=40))
@example("AGO")
def test_any_text_can_be_read(text: str) -> None:
    for age in (*stated_ages(text), *doubtful_ages(text)):
        assert age.minutes >= 0
        said = text[slice(*age.span)]
        assert any(char.isdigit() for char in said) or (age.in_words and any(char.isalpha() for char in said))


@pytest.mark.parametrize(
    "text",
    [
        "Updated 10 min ago, lasts 3 hours.",
        "Synced 10 minutes ago and takes 3 hours",
        "Updated 10 min ago, open for 3 h",
    ],
)
def test_how_long_it_lasts_is_no_age(text: str) -> None:
    assert [age.minutes for age in stated_ages(text)] == [10]


def test_how_long_nothing_new_came_is_one() -> None:
    assert [age.minutes for age in stated_ages("No sync for 3 hours")] == [180]
