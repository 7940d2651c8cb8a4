"""The prompt as a page repeats it: whole, cut, with a name or a time beside it, or rendered as HTML or Markdown."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from unicodedata import normalize

from karat.text.characters import folded

DISTINCT = 20
"""So many letters are not said by chance: who repeats them repeats the prompt."""
LABEL = 40
"""How much may stand beside a prompt and still be a name and a time."""
FEW = 3
"""How many words may stand beside a short one."""
ALIKE = 0.8

BESIDE = frozenset(
    {"you", "me", "user", "i", "am", "pm", "at", "just", "now", "today", "yesterday", "ago", "sec", "secs", "second"}
    | {"seconds", "min", "mins", "minute", "minutes", "hr", "hrs", "hour", "hours", "day", "days", "s", "m", "h", "d"}
    | {"sent", "delivered", "seen", "edited", "edit", "copy", "copied", "show", "read", "see", "view", "expand"}
    | {"collapse", "more", "less", "new", "chat", "message", "prompt"}
)
"""What chats write beside a message."""

_WORD = re.compile(r"[^\W_]+")
_OF_A_MESSAGE = re.compile(r"\b(?:you|me|user|now|ago|more|less)\b|\d[:.]\d\d")
"""Without one of these, what stands beside a short prompt may well belong to something else."""
_CUT = re.compile(r"…|\.{3,}")
_TAG = re.compile(r"</?[a-z][^<>]*>", re.I)
_LINK = re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)")
_NUMBER = re.compile(r"^\s*\d+[.)]\s", re.M)
_FENCE = re.compile(r"^\s*```.*$", re.M)


class Kind(Enum):
    """What a line is to a prompt."""

    ECHO = auto()
    """The prompt, and nothing else than what chats write beside it."""
    REST = auto()
    """A further line of it."""
    OPENING = auto()
    """So much of its beginning that it is no chance; nothing shows that it was cut off."""
    NAMED = auto()
    """The prompt with a few other words."""
    QUOTED = auto()
    """The prompt within a longer text."""
    BEGINNING = auto()
    """A few of its first letters; nothing shows that they were cut off."""
    PART = auto()
    """Letters of it."""
    OTHER = auto()


class Echo:
    """Finds one prompt, however its lines, spaces and marks are shown."""

    def __init__(self, prompt: str) -> None:
        self._has_words = bool(_WORD.search(_plain(prompt)))
        forms = [form for form in dict.fromkeys(map(_plain, _rendered(prompt))) if self._letters(form)]
        self._forms = list(dict.fromkeys(map(self._letters, forms)))
        self._patterns = [self._pattern(form) for form in forms]
        self._sentences = [f" {' '.join(_WORD.findall(form))} " for form in forms]
        self._words = [Counter(_WORD.findall(form)) for form in forms]
        self._longest = max(map(len, self._forms), default=0) + 2 * LABEL
        self.one_word = count_words(prompt) == 1
        self.distinct = len(self._letters(_plain(prompt))) >= DISTINCT

    def is_whole(self, text: str) -> bool:
        """Whether a text is the prompt and nothing else."""
        return self._letters(_plain(text)) in self._forms

    def is_like(self, text: str) -> bool:
        """Whether a text has nearly the same words, but is no piece of the prompt."""
        plain = _plain(text)
        words = Counter(_WORD.findall(plain))
        most = max((2 * (words & own).total() / (words + own).total() for own in self._words if own), default=0)
        return most >= ALIKE and words.total() > FEW and self.kind(text) is not Kind.PART

    def kind(self, text: str) -> Kind:
        """What a text is to the prompt, seen by itself."""
        plain = _plain(text)
        letters = self._letters(plain)
        if not letters:
            return Kind.OTHER
        if len(letters) > self._longest:
            return self._whole_within(plain, letters) or Kind.OTHER
        if letters in self._forms or self._is_cut(plain):
            return Kind.ECHO
        whole = self._whole_within(plain, letters)
        if whole is not None:
            return whole
        if any(
            form.startswith(start) for form in self._forms for start in self._starts(plain) if len(start) >= DISTINCT
        ):
            return Kind.OPENING
        if not _without_beside(plain, at_end=False):
            return Kind.OTHER
        if any(form.startswith(letters) for form in self._forms):
            return Kind.BEGINNING
        words = f" {' '.join(_WORD.findall(plain))} "
        return Kind.PART if any(words in form for form in self._sentences) else Kind.OTHER

    def kinds(self, texts: Sequence[str]) -> list[Kind]:
        """What each line is to the prompt, which may be written over several of them."""
        kinds = [self.kind(text) for text in texts]
        plain = [_plain(text) for text in texts]
        for first in range(len(texts)):
            last = self._run(plain, first) if len(plain[first]) <= 2 * self._longest else -1
            if last > first:
                kinds[first : last + 1] = [Kind.ECHO] + [Kind.REST] * (last - first)
        return kinds

    def cover(self, text: str, mask: str) -> str:
        """A text with the mask where the prompt stood."""
        for pattern in self._patterns:
            text = pattern.sub(mask, text)
        return text

    def _run(self, plain: Sequence[str], first: int) -> int:
        """The last of the lines that together are the prompt and begin here; -1 if they are not."""
        for form in self._forms:
            for so_far in self._starts(plain[first]):
                last = first
                while so_far and so_far != form and form.startswith(so_far):
                    last += 1
                    if last == len(plain):
                        break
                    if any(so_far + end == form for end in self._ends(plain[last])):
                        return last
                    so_far += self._letters(plain[last])
        return -1

    def _whole_within(self, plain: str, letters: str) -> Kind | None:
        for pattern in self._patterns:
            match = pattern.search(plain)
            if match is None:
                continue
            beside = plain[: match.start()], plain[match.end() :]
            words = _WORD.findall(" ".join(beside))
            if all(_is_beside(word) for word in words) and (self.distinct or _OF_A_MESSAGE.search(" ".join(beside))):
                return Kind.ECHO
            if not self.distinct:
                return Kind.NAMED if len(words) <= FEW else Kind.OTHER
            return Kind.NAMED if sum(len(side.strip()) for side in beside) <= LABEL else Kind.QUOTED
        glued = any(form in letters for form in self._forms if len(form) >= DISTINCT)
        return Kind.QUOTED if glued else None

    def _is_cut(self, plain: str) -> bool:
        """Pieces of the prompt in their order, from its beginning, where a mark shows that something was left out."""
        shortened = _without_beside(plain, at_end=True)
        pieces = _CUT.split(plain)
        if len(pieces) == 1 and shortened != plain and re.search(r"\b(?:more|less)\b", plain):
            pieces = [shortened, ""]
        if len(pieces) == 1:
            return False
        pieces[-1] = _without_beside(pieces[-1], at_end=True)
        for form in self._forms:
            for start in self._starts(pieces[0]):
                at = len(start) if start and form.startswith(start) else -1
                for piece in map(self._letters, pieces[1:]):
                    found = form.find(piece, at) if at >= 0 else -1
                    at = found + len(piece) if found >= 0 else -1
                if at >= 0:
                    return True
        return False

    def _starts(self, plain: str) -> Iterator[str]:
        yield self._letters(plain)
        yield self._letters(_without_beside(plain, at_end=False))

    def _ends(self, plain: str) -> Iterator[str]:
        yield self._letters(plain)
        yield self._letters(_without_beside(plain, at_end=True))

    def _letters(self, plain: str) -> str:
        return "".join(_WORD.findall(plain) if self._has_words else plain.split())

    def _pattern(self, form: str) -> re.Pattern[str]:
        words = _WORD.findall(form)
        spelled = r"[\W_]+".join(map(re.escape, words)) if words else re.escape(form.strip())
        return re.compile(rf"(?<![^\W_]){spelled}(?![^\W_])", re.IGNORECASE)


def count_words(text: str) -> int:
    return len(_WORD.findall(text))


def _plain(text: str) -> str:
    return normalize("NFKC", _CUT.sub("…", folded(text)).replace("…", "\0")).replace("\0", "…")


def _rendered(prompt: str) -> Iterator[str]:
    """The prompt as written, and what is left of it where marks of HTML and Markdown are obeyed."""
    for text in (prompt, html.unescape(_TAG.sub("", prompt)), html.unescape(_TAG.sub(" ", prompt))):
        yield text
        marked = _FENCE.sub("", _LINK.sub(r"\1", text))
        yield marked
        yield _NUMBER.sub("", marked)


def _is_beside(word: str) -> bool:
    return word in BESIDE or word.rstrip("smhdap").isdecimal()


def _without_beside(plain: str, *, at_end: bool) -> str:
    """A text less the names and times that stand at one of its ends."""
    words = list(_WORD.finditer(plain))
    if at_end:
        words.reverse()
    for word in words:
        if not _is_beside(word[0]):
            return plain[: word.end()] if at_end else plain[word.start() :]
    return ""
