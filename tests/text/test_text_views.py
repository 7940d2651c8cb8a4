"""What a reader sees of a text, and the way back to the text as written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carob.text.forbidden import find_phrase
from carob.text.phrases import find
from carob.text.views import all_words, is_plain, rendered_view, visible_words, wide_forms, without_hidden

MARKUP = st.lists(
    st.sampled_from(
        [
            *(
                "**",
                "*",
                "_",
                "~~",
                "`",
                "```\n",
                "[",
                "]",
                "](x)",
                "![",
                "<b>",
                "</b>",
                "<!--",
                "-->",
                "&amp;",
                "\\",
                "> ",
            ),
            *(
                "<p hidden>",
                "</p>",
                "<details>",
                "<summary>",
                "</summary>",
                "</details>",
                "\n",
                "\n\n",
                "a",
                "refund",
                " ",
            ),
            *("é", "\u200b", "а", "-\n", "[x]: y\n", "\x1b[1m", "<", ">", "&#65;", "ﬁ", "\u0336"),
        ]
    ),
    max_size=30,
).map("".join)


@pytest.mark.parametrize(
    ("text", "reader"),
    [
        pytest.param("**a** _b_ `c`", "a b c", id="emphasis-and-code"),
        pytest.param("snake_case 2*3*4 5 * 6", "snake_case 2*3*4 5 * 6", id="no-emphasis"),
        pytest.param("a <!-- b --> c", "a  c", id="comment"),
        pytest.param("a <!-- b", "a ", id="open-comment"),
        pytest.param("`<!-- b -->`", "<!-- b -->", id="comment-in-code"),
        pytest.param("```\n**a**\n```", "```\n**a**\n```", id="fence"),
        pytest.param("[a](b 'c') ![d](e)", "a ", id="link-and-image"),
        pytest.param("[a][r]\n\n[r]: b", "a\n\n", id="reference"),
        pytest.param("list[0][1] (x)", "list[0][1] (x)", id="no-reference"),
        pytest.param("~~a~~ b ~5", " b ~5", id="struck-out"),
        pytest.param("<b>a</b><br>b<i hidden>c<i>d</i>e</i>f", "a\nbf", id="tags"),
        pytest.param("a < b and c > d, <order id>", "a < b and c > d, <order id>", id="no-tags"),
        pytest.param("&lt;b&gt; &nope; &#x41;", "<b> &nope; A", id="entities"),
        pytest.param("<details><summary>a</summary>b</details>c", "\n\na\nc", id="folded-up"),
        pytest.param("<details><summary>a<summary>b</summary>c</details>d", "\n\na\nb\nd", id="summary-twice"),
        pytest.param("> a\n> b", "a\nb", id="quote"),
        pytest.param("\\*a\\*", "*a*", id="escapes"),
        pytest.param("<https://a.b>", "https://a.b", id="address"),
        pytest.param("\x1b[1ma\x1b[0m", "a", id="terminal"),
    ],
)
def test_seen(text: str, reader: str) -> None:
    assert rendered_view(text).text == reader


@given(MARKUP)
def test_every_view_leads_back_into_the_text(text: str) -> None:
    for view in (rendered_view(text), without_hidden(text), visible_words(text), all_words(text)):
        for at in range(len(view.text)):
            start, end = view.span(at, at + 1)
            assert 0 <= start < end <= len(text)
        places = [view.span(at, at + 1)[0] for at in range(len(view.text))]
        assert places == sorted(places)


@given(MARKUP)
def test_wide_forms_lead_back_into_the_text(text: str) -> None:
    for form in wide_forms(text):
        for at in range(len(form.folded)):
            start, end = form.original_span(at, at + 1)
            assert 0 <= start < end <= len(text)


@given(st.text(st.sampled_from("ab 12.,-:!?()\n"), max_size=40))
def test_a_plain_text_is_all_that_there_is_of_it(text: str) -> None:
    if is_plain(text):
        assert rendered_view(text).text == without_hidden(text).text == all_words(text).text == text
        assert wide_forms(text) == ()


@given(MARKUP, MARKUP)
def test_what_is_seen_is_forbidden_too(before: str, after: str) -> None:
    text = f"{before} refund {after}"
    if find(text, "refund"):
        assert find_phrase(text, "refund")


@given(MARKUP)
def test_a_forbidden_phrase_is_found_wherever_it_is_written(text: str) -> None:
    assert find_phrase(f"{text} as an AI", "as an AI")
