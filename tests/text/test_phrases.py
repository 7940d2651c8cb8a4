import pytest
from hypothesis import given
from hypothesis import strategies as st

from carob.text.folding import fold
from carob.text.phrases import find, find_any, find_any_word, find_word, word_spans

words = st.text("aAbsS PRé_1ß\u0301\u200b’'-—\n", max_size=30)


def cut(text: str, span: tuple[int, int] | None) -> str | None:
    return None if span is None else text[slice(*span)]


@pytest.mark.parametrize(
    ("text", "phrase", "found"),
    [
        pytest.param("I can HELP you", "can help", "can HELP", id="case"),
        pytest.param("I can\n  help you", "can help", "can\n  help", id="white-space"),
        pytest.param("I can help", "can  \t help", "can help", id="white-space-in-the-phrase"),
        pytest.param("It’s “fine”", 'it\'s "fine"', "It’s “fine”", id="typographic-quotes"),
        pytest.param("It's fine", "It’s", "It's", id="typographic-quote-in-the-phrase"),
        pytest.param("up—down", "up-down", "up—down", id="dash"),
        pytest.param("cafe\u0301", "CAFÉ", "cafe\u0301", id="nfc"),
        pytest.param("an approach", "PR", "pr", id="substring"),
        pytest.param("err\u200bor", "error", "err\u200bor", id="invisible-hides-nothing"),
        pytest.param("all is well", "error", None, id="absent"),
        pytest.param("he said so", " AI ", None, id="outer-space-asks-for-a-gap"),
        pytest.param("this AI said", " AI ", " AI ", id="outer-space-as-a-gap"),
        pytest.param("AI said", " AI ", "AI ", id="outer-space-at-the-start"),
        pytest.param("said the AI", " AI ", " AI", id="outer-space-at-the-end"),
        pytest.param("AI", " AI ", "AI", id="outer-space-at-both-ends"),
        pytest.param("anything", "", None, id="empty-phrase"),
        pytest.param("any thing", " \u200b\n", None, id="blank-phrase"),
        pytest.param("", "x", None, id="empty-text"),
        pytest.param("a\x00b\ud800c", "B\ud800", "b\ud800", id="nul-and-surrogate"),
    ],
)
def test_find(text: str, phrase: str, found: str | None) -> None:
    assert cut(text, find(text, phrase)) == found


@pytest.mark.parametrize(
    ("text", "phrase", "found"),
    [
        pytest.param("our approach", "PR", None, id="spec-pr-is-not-in-approach"),
        pytest.param("merged 3 PRs today", "PR", "PRs", id="plural"),
        pytest.param("PRss", "PR", None, id="one-plural-s-only"),
        pytest.param("PRs2", "PR", None, id="plural-needs-a-word-end"),
        pytest.param("the PR's author", "PR", "PR", id="genitive"),
        pytest.param("slacker than Slack", "Slack", "Slack", id="later-occurrence"),
        pytest.param("a slacker", "Slack", None, id="longer-word"),
        pytest.param("a_PR", "PR", None, id="underscore-joins"),
        pytest.param("2PR", "PR", None, id="digit-joins"),
        pytest.param("éPR", "PR", None, id="letter-of-any-script-joins"),
        pytest.param("PR\u20dd", "PR", None, id="mark-joins"),
        pytest.param("(PR)", "PR", "PR", id="brackets"),
        pytest.param("PR-12", "PR", "PR", id="hyphen-ends-a-word"),
        pytest.param("GitHub  issues", "github issue", "GitHub  issues", id="plural-of-the-last-word"),
        pytest.param("see C++20", "C++", "C++", id="sign-at-the-end-touches-anything"),
        pytest.param("x#tag", "#tag", "#tag", id="sign-at-the-start-touches-anything"),
        pytest.param("anything", "", None, id="empty"),
        pytest.param("not found", "found", "found", id="whole-word"),
        pytest.param("unavailable", "available", None, id="spec-unavailable-is-not-available"),
        pytest.param("permission", "mission", None, id="spec-permission-is-no-mission"),
    ],
)
def test_find_word(text: str, phrase: str, found: str | None) -> None:
    assert cut(text, find_word(text, phrase)) == found


def test_word_spans_lists_every_place() -> None:
    text = "PR, approach, PRs\u200b and pr"
    assert [text[slice(*span)] for span in word_spans(text, "PR")] == ["PR", "PRs\u200b", "pr"]


def test_find_any_takes_the_first_phrase_that_is_there() -> None:
    assert find_any("beta alpha", ["gamma", "alpha", "beta"]) == (5, 10)
    assert find_any("beta", ["gamma"]) is None
    assert find_any_word("alphabet beta", ["alpha", "beta"]) == (9, 13)
    assert find_any_word("alphabet", ("alpha",)) is None


@given(words, words)
def test_find_agrees_with_the_folded_texts(text: str, phrase: str) -> None:
    phrase = phrase.strip(" \n\u200b")
    span, needle = find(text, phrase), fold(phrase)
    assert (span is not None) == (needle != "" and needle in fold(text))
    if span is not None:
        assert needle in fold(text[slice(*span)])


@given(words, words, words)
def test_what_is_put_between_spaces_is_found(before: str, phrase: str, after: str) -> None:
    text = f"{before} {phrase} {after}"
    if fold(phrase):
        for span in (find(text, phrase), find_word(text, phrase) if fold(phrase)[0].isalnum() else (0, len(text))):
            assert span is not None
            assert fold(phrase) in fold(text[slice(*span)])


@given(words, words)
def test_a_whole_word_is_also_a_substring(text: str, phrase: str) -> None:
    span = find_word(text, phrase)
    if span is not None:
        assert find(text, fold(phrase)) is not None
        assert fold(text[slice(*span)]).removesuffix("s").startswith(fold(phrase).removesuffix("s"))
