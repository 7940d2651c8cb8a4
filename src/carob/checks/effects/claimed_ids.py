"""The ids in a sentence that claims a deed: each must be in a call that did it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import regex

from carob.model.trace import ToolCall
from carob.text.folding import Span
from carob.text.words import WordLists

_ID = regex.compile(r"(?<![\w#-])#?(?=[\w/-]*\d)[A-Za-z0-9]+(?:[-_/][A-Za-z0-9]+)*(?![\w-])")
_SENTENCE_END = regex.compile(r"[.!?](?=\s|\Z)|[\n;]")
_OWN_VERB = r"[^\S\n]+«other_verbs»"
_DIGITS = regex.compile(r"\d+")
_MIXED = regex.compile(r"[A-Z0-9]{5,}")
"""An id without a form of its own, such as a booking code: those of one length are alike."""


def find_unproved_id(answer: str, claim: Span, succeeded: Sequence[ToolCall], words: WordLists) -> str:
    """An id of the claiming sentence that no call which did the deed holds; empty if there is none.

    Only ids of the form that the calls have are compared: an order that was refunded is `A-9`, and so `A-10` is one.
    """
    done = [str(msgspec.json.encode((call.arguments, call.result), enc_hook=str), "utf-8") for call in succeeded]
    asked = [str(msgspec.json.encode(call.arguments, enc_hook=str), "utf-8") for call in succeeded]
    forms = {_form(match[0]) for text in asked for match in _ID.finditer(text)} - {""}
    known = {match[0].removeprefix("#").casefold() for text in done for match in _ID.finditer(text)}
    for found in _ids_near(answer, claim, words) if forms else ():
        if _form(found) in forms and found.removeprefix("#").casefold() not in known:
            return found
    return ""


def _ids_near(answer: str, claim: Span, words: WordLists) -> Iterator[str]:
    """The ids of the sentence, as far as it speaks of what was done."""
    start = max((match.end() for match in _SENTENCE_END.finditer(answer, 0, claim[0])), default=0)
    after = _SENTENCE_END.search(answer, claim[1])
    end = after.start() if after else len(answer)
    small = answer.replace("’", "'").lower()
    if len(small) == len(answer):  # a few letters become two when they are small
        others = words.pattern("other_things")
        start = max((match.end() for match in others.finditer(small, start, claim[0])), default=start)
        other = others.search(small, claim[1], end)
        end = other.start() if other else end
    own_verb = words.regex(_OWN_VERB)
    for match in _ID.finditer(answer, start, end):
        if match.start() < claim[1] or not own_verb.match(small, match.end()):
            yield match[0]


def _form(text: str) -> str:
    """What ids of one kind have in common; empty for what is a plain number, a time or a measure."""
    bare = text.removeprefix("#")
    if bare[0].isalpha() and (parts := _DIGITS.sub("0", bare)).rstrip("0") != parts:
        return parts.casefold()
    return f"code of {len(bare)}" if _MIXED.fullmatch(bare) and not bare.isdigit() else ""
