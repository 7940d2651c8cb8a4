"""The widest forms of a text: what is forbidden is looked for in all of them, so that no dress hides it.

Besides the text as written these are its words without markup, hidden ones included, and those that a reader sees. In
each of them characters are the same that look the same: compatibility forms (NFKC), look-alike letters, letters under
combining strokes, and letters with unseen characters between them. Words that a hyphen divides at the end of
a line are joined, once without the hyphen and once with it, and so are initials: "A.I." is "AI".

A word of another script stays as it is unless all its letters look like Latin ones and it is in no text of that
script: "Мусор убран" holds no "cop".
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple
from unicodedata import normalize

import regex

from karat.text.forms.characters import WIDE_SPACES
from karat.text.forms.folding import fold, fold_phrase, original_span
from karat.text.forms.look_alikes import ASCII_OF
from karat.text.forms.markup import Edit
from karat.text.forms.offsets import Span
from karat.text.forms.views import View, all_words, apply_edits, initials, is_plain, rendered_view
from karat.text.regexes import lazy

_TEXTS: Final = 8
_NEARBY: Final = 40
_FOREIGN = lazy.pattern(
    r"(?<![A-Za-z0-9_])[A-Za-z0-9_]*+[^\x00-\x7f](?:[A-Za-z0-9_]|[^\x00-\x7f])*+|[\x00-\x08\x0e-\x1b\x7f]+"
)
_SPACES = lazy.pattern(rf"([{WIDE_SPACES}\x85\u2028\u2029])")
_DIVIDED = lazy.pattern(r"(?<=\w)(?P<hyphen>[-\xad\u2010\u2011])[ \t]*(?:\r?\n|[\u2028\u2029])[ \t]*(?=\w)")
_NOT_SEEN = lazy.regex(r"[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}--[\s]]+", regex.V1)
_STROKES = lazy.pattern("[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")
_BLANKS: Final = dict.fromkeys((0x2800, 0x3164, 0x115F, 0x1160, 0xFFA0), " ")
_APOSTROPHES: Final = dict.fromkeys((0xB4, 0x2B9, 0x2BB, 0x2BC, 0x2BD, 0x2C8, 0xA78C, 0x1FBD, 0x1FBF), "'")
_WORD = lazy.pattern("(?:[^\\W\\d_]|[\U0001f130-\U0001f189])+")


class WideForm(NamedTuple):
    """One form of a text: what of it is shown, and that with all characters in their widest form."""

    view: View
    widened: View

    def original_span(self, start: int, end: int) -> Span:
        """The span of the text as written that a span of the folded form came from."""
        return self.written_span(*original_span(self.widened.text, start, end))

    @property
    def folded(self) -> str:
        return fold(self.widened.text)

    def written_span(self, start: int, end: int) -> Span:
        """The span of the text as written that a span of the widened text came from."""
        return self.view.span(*self.widened.span(start, end))


@lru_cache(maxsize=_TEXTS)
def wide_forms(text: str, rendered: bool = True) -> tuple[WideForm, ...]:
    """The forms in which something forbidden is looked for, besides the text itself; `rendered` also without markup."""
    if is_plain(text):
        return ()
    views = {text: View(text)}
    if rendered:
        for view in (all_words(text), rendered_view(text)):
            views.setdefault(view.text, view)
    forms: dict[str, WideForm] = {}
    for view in views.values():
        for widened in _widened_views(view.text):
            if widened.text != text:
                forms.setdefault(widened.text, WideForm(view, widened))
    return tuple(forms.values())


@lru_cache(maxsize=4096)
def wide_phrase(phrase: str) -> str:
    """A phrase as it is looked for in wide forms."""
    return fold_phrase("".join(map(widened_run, _SPACES.split(_join_initials(phrase)))))


def _widened_views(text: str) -> tuple[View, ...]:
    edits = [Edit(m.start(), m.end(), widened_run(m[0].replace(".", ""))) for m in initials(text)]
    edits += [Edit(m.start(), m.end(), _widened_word(m)) for m in _FOREIGN.finditer(text)]
    edits = [edit for edit in edits if text[edit.start : edit.end] != edit.shown]
    divided = [(m.start(), m.end(), m["hyphen"]) for m in _DIVIDED.finditer(text)]
    joined = apply_edits(text, [*(Edit(start, end) for start, end, _ in divided), *edits])
    if not divided:
        return (joined,)
    return apply_edits(text, list(edits)), joined, apply_edits(text, [*(Edit(*place) for place in divided), *edits])


def _join_initials(phrase: str) -> str:
    return apply_edits(phrase, [Edit(m.start(), m.end(), m[0].replace(".", "")) for m in initials(phrase)]).text


def _widened_word(found: re.Match[str]) -> str:
    own_script = not found[0].isascii() and _is_among_its_own(found.string, *found.span())
    if _SPACES.search(found[0]) is None:
        return widened_run(found[0], own_script)
    return "".join(widened_run(run, own_script) for run in _SPACES.split(found[0]))


def _is_among_its_own(text: str, start: int, end: int) -> bool:
    """Whether a word next to this one is of another script beyond doubt, and none is Latin."""
    before = _WORD.findall(text, max(0, start - _NEARBY), start)[-1:]
    neighbours = "".join(before + _WORD.findall(text, end, end + _NEARBY)[:1])
    return not any(map(str.isascii, neighbours)) and any(char not in ASCII_OF for char in neighbours)


@lru_cache(maxsize=16_384)
def widened_run(run: str, own_script: bool = False) -> str:
    """A word, or what looks like one, in its widest form."""
    if run.isascii():
        return _NOT_SEEN.sub("", run)
    visible = _NOT_SEEN.sub("", run.translate(_BLANKS).translate(_APOSTROPHES))
    plain_letters = _STROKES.sub("", normalize("NFKC", visible))
    return _WORD.sub(lambda word: _as_ascii(word[0], own_script), plain_letters)


def _as_ascii(letters: str, own_script: bool) -> str:
    if letters.isascii():
        return letters
    alike = any(map(str.isascii, letters)) or (not own_script and all(char in ASCII_OF for char in letters))
    return "".join(ASCII_OF.get(char, char) for char in letters) if alike else letters
