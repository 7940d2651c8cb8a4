"""Long hostile texts take time in proportion to their length."""

import time
from collections.abc import Callable

import pytest

from carob.text.ages.stated import doubtful_ages, stated_ages
from carob.text.forbidden import find_phrase, find_regex
from carob.text.numbers.claimed import stated_numbers
from carob.text.numbers.whole import ground, number_spans, unread_number
from carob.text.phrases import find, find_word
from carob.text.prose.asking import find_request
from carob.text.prose.claims import claims
from carob.text.regexes.safe_regex import find_seen

SIZE = 2**14
SECONDS = 3


@pytest.mark.parametrize(
    "unit",
    [
        " ",
        "a ",
        "1",
        "1,",
        "111,",
        "1-",
        "1m ",
        "1m",
        "1\n",
        "1h00 ",
        "1 000 ",
        "12. ",
        "12. x\n",
        "1/2 ",
        "May 5, ",
        "5k ",
        "P1D ",
        "更12円",
        "-",
        "a-",
        "e\u0301",
        "a\u200b",
        "ß",
        "é\r\n",
    ],
)
@pytest.mark.parametrize(
    "look",
    [
        pytest.param(lambda text: find(text, "zq zq"), id="find"),
        pytest.param(lambda text: find_word(text, "a"), id="find_word"),
        pytest.param(lambda text: list(number_spans(text, "12 q")), id="number_spans"),
        pytest.param(lambda text: ground(text, "12", ("absent",), same_line=True), id="ground"),
        pytest.param(stated_ages, id="stated_ages"),
        pytest.param(stated_numbers, id="stated_numbers"),
        pytest.param(lambda text: find_seen("[a1]", text), id="spans"),
    ],
)
def test_a_long_text_is_read_in_time(unit: str, look: Callable[[str], object]) -> None:
    text = unit * (SIZE // len(unit)) + " zq zq"
    started = time.thread_time()
    look(text)
    assert time.thread_time() - started < SECONDS


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "`",
            "```\n",
            "<",
            '<a x="',
            "<!--",
            "<!",
            "[",
            "](",
            "[a](b",
            "[a]: b\n",
            "*",
            "**a ",
            "~~a~~ ",
            "&#65;",
            "\\",
        ),
        *("> ", "<p hidden>", "<details><summary>", "\x1b[", "А", "а\u0336", "a-\n", "not booked ", "booked? ", '"'),
        *("a few days ago ", "from yesterday ", "3 Tage ", "1.200 ", "12 Mio ", "no assumption ", "cannot snooze, "),
    ],
)
@pytest.mark.parametrize(
    "look",
    [
        pytest.param(lambda text: find_phrase(text, "zq zr"), id="forbidden phrase"),
        pytest.param(lambda text: find_regex(text, "zq zr"), id="forbidden regex"),
        pytest.param(lambda text: unread_number(text, "13"), id="unread_number"),
        pytest.param(doubtful_ages, id="doubtful_ages"),
        pytest.param(lambda text: claims(text, {"book": ["booked"]}), id="claims"),
        pytest.param(find_request, id="asked"),
    ],
)
def test_a_long_text_of_markup_is_read_in_time(unit: str, look: Callable[[str], object]) -> None:
    text = unit * (SIZE // 2 // len(unit)) + " zq zq"
    started = time.thread_time()
    look(text)
    assert time.thread_time() - started < SECONDS
