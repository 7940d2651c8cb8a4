"""All word lists by name. No list holds a word of an example application."""

from __future__ import annotations

from karat.text.words.ages import LISTS as AGES
from karat.text.words.deeds import CLAIMS, DENIALS
from karat.text.words.numbers import LISTS as NUMBERS
from karat.text.words.results import RESULTS
from karat.text.words.speech import ASKED, ASKING, OUTCOMES, SENTENCES
from karat.text.words.word_list import WordList

LISTS: dict[str, WordList] = {
    one.name: one for one in (*CLAIMS, *DENIALS, *ASKING, *ASKED, *OUTCOMES, *SENTENCES, *RESULTS, *NUMBERS, *AGES)
}
