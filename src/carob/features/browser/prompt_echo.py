"""The prompt as a page repeats it: whole, cut, with a name or a time next to it, or rendered as HTML or Markdown."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from unicodedata import normalize

from carob.text.characters import folded

DISTINCT = 20
"""So many letters are not said by chance: who repeats them repeats the prompt."""
FEW = 3
"""How many words may be next to a prompt and still be a name."""
LABEL = 40
"""How many letters may."""

_WORD = re.compile(r"[^\W_]+")
_TIME = r"(?:(?:today|yesterday)? ?(?:at )?\d{1,2}[:.]\d\d(?: ?[ap]m)?|\w{1,9} (?:\w{1,9} )?ago|(?:just )?now)"
_CONTROL = r"(?:(?:show|read|see|view) less|more|less|expand|collapse|edit(?:ed)?|cop(?:y|ied)|sent|delivered|seen)"
_LABEL = rf"(?:you|me|user|i|said|message|prompt|{_TIME}|{_CONTROL})"
_BEFORE = re.compile(rf"^(?:\W*{_LABEL}(?![^\W_]))++\W*")
_AFTER = re.compile(rf"(?:(?<![^\W_]){_LABEL}\W*)++$")
"""What chats write next to a message."""
_CUT = re.compile(r"…|\.{3,}|\b(?:show|read|see|view) more\b")
_TAG = re.compile(r"</?[a-z][^<>]*>", re.I)
_LINK = re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)")
_NUMBER = re.compile(r"^\s*\d+[.)]\s", re.M)
_FENCE = re.compile(r"^\s*```.*$", re.M)


class Likeness(Enum):
    """What a line is to a prompt."""

    WHOLE = auto()
    """The prompt or a line of it, maybe cut, and nothing else than what chats write next to it."""
    NAMED = auto()
    """The prompt with a few other words."""
    QUOTED = auto()
    """The prompt within a longer text."""
    START = auto()
    """Its first letters; nothing shows that they were cut off."""
    PART = auto()
    """Words of it."""
    OTHER = auto()


class PromptMatcher:
    """Finds one prompt, however its lines, spaces and marks are shown."""

    def __init__(self, prompt: str) -> None:
        self._has_words = bool(_WORD.search(_normalize(prompt)))
        forms = [form for form in dict.fromkeys(map(_normalize, _renderings(prompt))) if self._letters(form)]
        self._forms = list(dict.fromkeys(map(self._letters, forms)))
        self._patterns = [self._pattern(form) for form in forms]
        self._sentences = [f" {' '.join(_WORD.findall(form))} " for form in forms]
        self._longest = max(map(len, forms), default=0) + 2 * LABEL
        self.one_word = count_words(prompt) == 1
        self.distinct = len(self._letters(_normalize(prompt))) >= DISTINCT

    def is_whole(self, text: str) -> bool:
        """Whether a text is the prompt and nothing else."""
        return self._letters(_normalize(text)) in self._forms

    def likeness(self, text: str) -> Likeness:
        """What a text is to the prompt, seen by itself."""
        plain = _normalize(text)
        readings = [*self._readings(plain)] if len(plain) <= self._longest else []
        if any(letters in self._forms for letters in readings) or (readings and self._is_cut(plain)):
            return Likeness.WHOLE
        within = self._find_within(plain)
        if within is not None or not readings or not readings[-1]:
            return within or Likeness.OTHER
        if any(map(self._begins, readings)):
            return Likeness.START
        words = f" {' '.join(_WORD.findall(plain))} "
        return Likeness.PART if any(words in form for form in self._sentences) else Likeness.OTHER

    def likenesses(self, texts: Sequence[str]) -> list[Likeness]:
        """What each line is to the prompt, which may be written over several of them."""
        likenesses = [self.likeness(text) for text in texts]
        for first in range(len(texts)):
            end = self._end_of_run(texts, first)
            likenesses[first:end] = [Likeness.WHOLE] * (end - first)
        return likenesses

    def cover(self, text: str, mask: str) -> str:
        """A text with the mask where the prompt was."""
        for pattern in self._patterns:
            text = pattern.sub(mask, text)
        return text

    def _end_of_run(self, texts: Sequence[str], first: int) -> int:
        """Where the lines end that together are the prompt and begin here; `first` if they are not."""
        so_far = ""
        for last in range(first, len(texts)):
            if len(texts[last]) > 2 * self._longest:
                return first
            fitting = [so_far + more for more in self._readings(_normalize(texts[last])) if self._begins(so_far + more)]
            if any(letters in self._forms for letters in fitting):
                return last + 1
            if not fitting:
                return first
            so_far = fitting[0]
        return first

    def _find_within(self, plain: str) -> Likeness | None:
        for pattern in self._patterns:
            match = pattern.search(plain)
            if match is None:
                continue
            around = plain[: match.start()], plain[match.end() :]
            if not self.distinct:
                return Likeness.NAMED if count_words(" ".join(around)) <= FEW else Likeness.OTHER
            return Likeness.NAMED if sum(len(side.strip()) for side in around) <= LABEL else Likeness.QUOTED
        glued = any(form in self._letters(plain) for form in self._forms if len(form) >= DISTINCT)
        return Likeness.QUOTED if glued else None

    def _is_cut(self, plain: str) -> bool:
        """The beginning of the prompt, and maybe its end, where a mark shows that something was left out."""
        head, mark, tail = plain.partition("…")
        starts, ends = [*filter(None, self._readings(head))], [*self._readings(tail)]
        return bool(mark) and any(
            form.startswith(start) and form.endswith(end) for form in self._forms for start in starts for end in ends
        )

    def _begins(self, letters: str) -> bool:
        return bool(letters) and any(form.startswith(letters) for form in self._forms)

    def _readings(self, plain: str) -> Iterator[str]:
        """The letters of a text with and without what chats write at its ends."""
        for begun in (plain, _BEFORE.sub("", plain, count=1)):
            yield from (self._letters(begun), self._letters(_AFTER.sub("", begun)))

    def _letters(self, plain: str) -> str:
        return "".join(_WORD.findall(plain) if self._has_words else plain.split())

    def _pattern(self, form: str) -> re.Pattern[str]:
        words = _WORD.findall(form)
        spelled = r"[\W_]+".join(map(re.escape, words)) if words else re.escape(form.strip())
        return re.compile(rf"(?<![^\W_]){spelled}(?![^\W_])", re.IGNORECASE)


def count_words(text: str) -> int:
    return len(_WORD.findall(text))


def _normalize(text: str) -> str:
    return normalize("NFKC", _CUT.sub("…", folded(text)).replace("…", "\0")).replace("\0", "…")


def _renderings(prompt: str) -> Iterator[str]:
    """The prompt as written, and what is left of it where marks of HTML and Markdown are obeyed."""
    for text in (prompt, html.unescape(_TAG.sub("", prompt)), html.unescape(_TAG.sub(" ", prompt))):
        yield text
        marked = _FENCE.sub("", _LINK.sub(r"\1", text))
        yield marked
        yield _NUMBER.sub("", marked)
