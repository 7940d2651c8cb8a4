"""Law 19: a no is no yes, in no language and in no place of a message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from carob.text.prose.consent import CONSENT, gives_consent
from carob.text.words import published_lists

TABLE: dict[str, dict[str, list[str]]] = yaml.safe_load(Path(__file__).with_name("consent.yaml").read_text("utf-8"))
MOST_MISSED = 1 / 20
"""Of real consents."""

pytestmark = pytest.mark.quick


def _list_of(language: str) -> str:
    return "consent" if language == "en" else f"consent_{language}"


def _spell(entry: str) -> Iterator[str]:
    """The words that an entry of a list finds."""
    if (choice := re.search(r"\(([^()]*)\)", entry)) is None:
        yield " ".join(entry.split())
        return
    for option in choice[1].split("|"):
        yield from _spell(entry[: choice.start()] + option + entry[choice.end() :])


def _rows(kind: str) -> list[tuple[str, str]]:
    return [(language, text) for language, rows in TABLE.items() for text in rows[kind]]


def test_the_table_is_large_enough() -> None:
    assert {_list_of(language) for language in TABLE} == set(CONSENT)
    assert len(_rows("none")) >= len(_rows("consent")) >= 60


@pytest.mark.parametrize("language", TABLE)
def test_a_no_is_no_yes(language: str) -> None:
    assert [text for text in TABLE[language]["none"] if gives_consent(text, (), [_list_of(language)])] == []


@pytest.mark.parametrize("language", TABLE)
def test_no_listed_word_of_consent_counts_where_it_is_denied_asked_conditional_or_taken_back(language: str) -> None:
    name = _list_of(language)
    for word in (word for entry in published_lists()[name].entries for word in _spell(entry)):
        assert gives_consent(word, (), [name]), word
        for text in TABLE[language]["never"]:
            assert not gives_consent(text.format(word), (), [name]), text.format(word)


@pytest.mark.parametrize("text", [text for text in TABLE["en"]["never"] if "{} not" not in text])
def test_the_same_holds_for_words_of_an_author(text: str) -> None:
    for word in ("yes", "go ahead", "confirm", "ship it", "that one"):
        assert gives_consent(f"{word}.", (word,))
        assert not gives_consent(text.format(word), (word,)), text.format(word)


def test_few_consents_are_missed() -> None:
    rows = _rows("consent")
    missed = [text for language, text in rows if not gives_consent(text, (), [_list_of(language)])]
    assert len(missed) <= MOST_MISSED * len(rows), missed
