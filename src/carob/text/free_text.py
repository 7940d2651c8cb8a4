"""Whether a value is wording, which may be put otherwise the next time."""

from __future__ import annotations

import re
from typing import Final

LONGEST_WORD: Final = 40
FREE_WORDS: Final = 4
"""A text of so many words is wording, not a value."""
UNSPACED: Final = re.compile("[\u0e00-\u109f\u1780-\u17ff\u2e80-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]")
"""Letters of scripts that put no spaces between words, or join words to others."""
FREE_LETTERS: Final = 12
"""The same as FREE_WORDS, in letters of such a script."""


def is_free_text(value: object) -> bool:
    """Whether a value is wording: it may be put otherwise the next time."""
    if not isinstance(value, str):
        return False
    is_long = len(value) > LONGEST_WORD or len(value.split()) >= FREE_WORDS
    return is_long or (not value.isascii() and len(UNSPACED.findall(value)) > FREE_LETTERS)
