"""Views of a text, each with the way back to it: what a reader sees, and the widest forms of what is written.

What is forbidden is looked for in all wide forms, so that no dress hides it. Besides the text as written these are its
words without markup, hidden ones included, and those that a reader sees. In each of them characters are the same that
look the same: compatibility forms (NFKC), look-alike letters, letters under combining strokes, and letters with unseen
characters between them. Words that a hyphen divides at the end of a line are joined, once without the hyphen and once
with it, and so are initials: "A.I." is "AI".

A word of another script stays as it is unless all its letters look like Latin ones and it is in no text of that
script: "Мусор убран" holds no "cop".
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, Literal, NamedTuple
from unicodedata import normalize

from msgspec import Struct

from carob.text.characters import ASCII_OF, WIDE_SPACES
from carob.text.folding import OffsetMap, Span, Stretch, fold, fold_phrase, original_span
from carob.text.markup import MARKS, Edit, scan
from carob.text.regexes import lazy

_TEXTS: Final = 8
_NOT_PLAIN: Final = MARKS.encode() + bytes((*range(0x09), *range(0x0E, 0x1C), 0x7F))
"""Without these, and dots and hyphens in some places, a reader of ASCII sees what is written."""
_HYPHEN_AT_LINE_END = lazy.pattern(r"-[ \t]*\r?\n")
_INITIALS: Final = lazy.pattern(r"(?<!\w)(?:[^\W\d_]\.)+[^\W\d_]\b\.?")
_LAST_INITIAL: Final = lazy.pattern(r"\.[^\W\d_](?!\w)")  # found fast, because it begins with a dot
_MARKUP: Final = frozenset("*_~`[]<>&\\/")
_NEARBY: Final = 40
_FOREIGN = lazy.pattern(
    r"(?<![A-Za-z0-9_])[A-Za-z0-9_]*+[^\x00-\x7f](?:[A-Za-z0-9_]|[^\x00-\x7f])*+|[\x00-\x08\x0e-\x1b\x7f]+"
)
_SPACES = lazy.pattern(rf"([{WIDE_SPACES}\x85\u2028\u2029])")
_DIVIDED = lazy.pattern(r"(?<=\w)(?P<hyphen>[-\xad\u2010\u2011])[ \t]*(?:\r?\n|[\u2028\u2029])[ \t]*(?=\w)")
_NOT_SEEN = lazy.regex(r"(?V1)[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}--[\s]]+")
_STROKES = lazy.pattern("[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")
_LOOK_ALIKE_SIGNS: Final = dict.fromkeys((0x2800, 0x3164, 0x115F, 0x1160, 0xFFA0), " ") | dict.fromkeys(
    (0xB4, 0x2B9, 0x2BB, 0x2BC, 0x2BD, 0x2C8, 0xA78C, 0x1FBD, 0x1FBF), "'"
)
_TAGS: Final = {0xE0000 + code: code for code in range(0x20, 0x7F)}
_TAGGED = lazy.pattern("[\U000e0020-\U000e007e]")
"""Letters that no reader sees, each with the one of ASCII that it repeats."""
SIGN: Final = r"(?:[-.*|~\xb7\u2022\u2027]|[\p{S}--\p{ASCII}])"
"""What may divide a word: re-fund, an emoji, a middle dot."""
_SIGNS_WITHIN = lazy.regex(rf"(?V1)(?<=\p{{L}}){SIGN}(?:{SIGN}|[\p{{M}}\p{{Cf}}])*+(?=\p{{L}})")
_ASCII_SIGNS = lazy.pattern(r"[-.*|~]+(?=[A-Za-z])")
_EMOJI_WITHIN = lazy.regex(r"(?V1)(?<=\p{L})[\p{S}--\p{ASCII}][\p{S}\p{M}--\p{ASCII}]*+(?=\p{L})")
_WORD = lazy.pattern("(?:[^\\W\\d_]|[\U0001f130-\U0001f189])+")


class View(Struct, frozen=True):
    """A text made from another one; `offsets` of None means that they are the same."""

    text: str
    offsets: OffsetMap | None = None

    def span(self, start: int, end: int) -> Span:
        """The span of the source that a span of this text came from."""
        return (start, end) if self.offsets is None else self.offsets.source_span(start, end)


class WideForm(NamedTuple):
    """One form of a text: what of it is shown, and that with all characters in their widest form."""

    view: View
    widened: View

    @property
    def folded(self) -> str:
        return fold(self.widened.text)

    def original_span(self, start: int, end: int) -> Span:
        """The span of the text as written that a span of the folded form came from."""
        return self.written_span(*original_span(self.widened.text, start, end))

    def written_span(self, start: int, end: int) -> Span:
        """The span of the text as written that a span of the widened text came from."""
        return self.view.span(*self.widened.span(start, end))


@lru_cache(maxsize=_TEXTS)
def is_plain(text: str) -> bool:
    """Whether all views and forms of a text are the same: most answers are plain, and finding out is cheap."""
    if not text.isascii() or _HYPHEN_AT_LINE_END.search(text):
        return False
    encoded = text.encode()
    if len(encoded.translate(None, _NOT_PLAIN)) < len(encoded):  # in a third of the time of a regex
        return False
    return next(_initials(text), None) is None


@lru_cache(maxsize=_TEXTS)
def rendered_view(text: str) -> View:
    """What a reader sees: markup rendered, what is hidden or is only in markup left out."""
    return _view(text, "edits", "hidden", "unseen")


@lru_cache(maxsize=_TEXTS)
def without_hidden(text: str) -> View:
    """The text as written, with its markup, without what is hidden."""
    return _view(text, "hidden")


@lru_cache(maxsize=_TEXTS)
def visible_words(text: str) -> View:
    """The text as written, with its markup, without what is hidden and what is only in markup."""
    return _view(text, "hidden", "unseen")


@lru_cache(maxsize=_TEXTS)
def all_words(text: str) -> View:
    """All words of the text, hidden ones too, without the markup between them."""
    return _view(text, "edits", "loose")


def where_required(text: str, phrase: str) -> tuple[View, ...]:
    """Where required words count: in what a reader sees, and as written if they speak of markup or an address."""
    rendered = rendered_view(text)
    return (rendered,) if _MARKUP.isdisjoint(phrase) else (without_hidden(text), rendered)


@lru_cache(maxsize=_TEXTS)
def wide_forms(text: str, rendered: bool = True) -> tuple[WideForm, ...]:
    """The forms in which something forbidden is looked for, besides the text itself; `rendered` also without markup."""
    if is_plain(text):
        return ()
    views = {text: View(text)}
    if _TAGGED.search(text):
        spoken = text.translate(_TAGS)
        views[spoken] = View(spoken)
    if rendered:
        for view in (all_words(text), rendered_view(text)):
            views.setdefault(view.text, view)
    forms: dict[str, WideForm] = {}
    for view in views.values():
        for widened in _widened_views(view.text):
            if widened.text != text:
                forms.setdefault(widened.text, WideForm(view, widened))
    return tuple(forms.values())


@lru_cache(maxsize=_TEXTS)
def join_words(text: str) -> View:
    """The text without signs within its words."""
    if text.isascii():  # in a fifth of the time
        signs = (m.span() for m in _ASCII_SIGNS.finditer(text) if text[m.start() - 1 : m.start()].isalpha())
        edits = [Edit(*span, "") for span in signs]
    else:
        edits = [Edit(*m.span(), "") for m in _SIGNS_WITHIN.finditer(text)]
    return apply_edits(text, edits) if edits else View(text)


@lru_cache(maxsize=4096)
def wide_phrase(phrase: str) -> str:
    """A phrase as it is looked for in wide forms."""
    joined = apply_edits(phrase, [Edit(*m.span(), m[0].replace(".", "")) for m in _initials(phrase)]).text
    return fold_phrase("".join(map(_widened_run, _SPACES.split(joined))))


def _initials(text: str) -> Iterator[re.Match[str]]:
    """Letters with dots between them, as in "A.I."."""
    return _INITIALS.finditer(text) if _LAST_INITIAL.search(text) else iter(())


_scan = lru_cache(maxsize=_TEXTS)(scan)


def _view(text: str, *parts: Literal["edits", "loose", "hidden", "unseen"]) -> View:
    markup = _scan(text)
    return apply_edits(text, [edit for part in parts for edit in getattr(markup, part)]) if markup else View(text)


def apply_edits(text: str, edits: list[Edit]) -> View:
    """The text with these edits; of two that overlap the one that begins first counts, and the longer one."""
    edits.sort(key=lambda edit: (edit.start, -edit.end))
    pieces: list[str] = []
    stretches: list[Stretch] = []
    position = length = 0
    for start, end, replacement in edits:
        if end <= position and start < position:
            continue
        start = max(start, position)
        pieces += text[position:start], replacement
        length += start - position
        stretches.append(Stretch(start, end, length, length + len(replacement)))
        length += len(replacement)
        position = end
    pieces.append(text[position:])
    return View("".join(pieces), OffsetMap.of(stretches))


def _widened_views(text: str) -> tuple[View, ...]:
    edits = [Edit(*m.span(), _widened_run(m[0].replace(".", ""))) for m in _initials(text)]
    edits += [Edit(*m.span(), _widened_word(m)) for m in _FOREIGN.finditer(text)]
    edits = [edit for edit in edits if text[edit.start : edit.end] != edit.replacement]
    divided = [Edit(*m.span(), m["hyphen"]) for m in _DIVIDED.finditer(text)]
    joined = apply_edits(text, [*(Edit(hyphen.start, hyphen.end) for hyphen in divided), *edits])
    if not divided:
        return (joined,)
    return apply_edits(text, list(edits)), joined, apply_edits(text, [*divided, *edits])


def _widened_word(word: re.Match[str]) -> str:
    own_script = not word[0].isascii() and _is_among_its_own(word.string, *word.span())
    if _SPACES.search(word[0]) is None:
        return _widened_run(word[0], own_script)
    return "".join(_widened_run(run, own_script) for run in _SPACES.split(word[0]))


def _is_among_its_own(text: str, start: int, end: int) -> bool:
    """Whether a word next to this one is of another script beyond doubt, and none is Latin."""
    before = _WORD.findall(text, max(0, start - _NEARBY), start)[-1:]
    neighbours = "".join(before + _WORD.findall(text, end, end + _NEARBY)[:1])
    return not any(map(str.isascii, neighbours)) and any(char not in ASCII_OF for char in neighbours)


@lru_cache(maxsize=16_384)
def _widened_run(run: str, own_script: bool = False) -> str:
    """A word, or what looks like one, in its widest form."""
    if run.isascii():
        return _NOT_SEEN.sub("", run)
    visible = _EMOJI_WITHIN.sub("", _NOT_SEEN.sub("", run.translate(_LOOK_ALIKE_SIGNS)))
    plain_letters = _STROKES.sub("", normalize("NFKC", visible))
    return _WORD.sub(lambda word: _as_ascii(word[0], own_script), plain_letters)


def _as_ascii(letters: str, own_script: bool) -> str:
    if letters.isascii():
        return letters
    alike = any(map(str.isascii, letters)) or (not own_script and all(char in ASCII_OF for char in letters))
    return "".join(ASCII_OF.get(char, char) for char in letters) if alike else letters
