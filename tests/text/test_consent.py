"""Words of consent, as people say them."""

from __future__ import annotations

import pytest

from carob.text.prose.asking import gives_consent

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    "text",
    [
        "Yes, please.",
        "Fine.",
        "Confirming!",
        'Cancel the entire order then. The reason is "ordered by mistake".',
        "You got it! That's the one!",
        "Okay, proceed.",
        "Okay, I want item 6117189161. Yes, please proceed.",
        "Sure, make sure that it is fast.",
    ],
)
def test_agrees(text: str) -> None:
    assert gives_consent(text, (), ("consent",))


@pytest.mark.parametrize(
    "text",
    [
        "Can you make sure it's applied?",
        "Great! Could you also add 2 checked bags?",
        "Please use the gift card with the smallest balance.",
        "Okay, how about item ID 3947159644?",
        "Could you help me proceed with changing the flight?",
        "Don't proceed.",
        "Gift card.",
    ],
)
def test_does_not_agree(text: str) -> None:
    assert not gives_consent(text, (), ("consent",))


def test_words_of_an_author_are_not_weighed() -> None:
    assert gives_consent("Can you make sure it's applied?", ("make sure",))
