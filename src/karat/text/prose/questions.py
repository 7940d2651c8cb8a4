"""Whether an answer asks for something: a question or a request, but no closing courtesy."""

from functools import lru_cache
from typing import Final

from karat.text.forms.offsets import Span
from karat.text.prose.sentences import Prose, prose, spaced
from karat.text.regexes import lazy

_MARK = lazy.regex(r"[?？؟⁇⁈](?![\w=&/%])")
"""A question mark, but not one inside an address."""
_SENTENCE_START = lazy.regex(r"[.!?;:\n。！？][\s\"')\]]*")
_COURTESY: Final = lazy.regex(
    spaced(
        r"\b(?:any|some|what|how|who|where)(?:thing|body|one)? else\b|\belse (?:i|we) can\b"
        r"|\b(?:any|more|other|further) (?:(?:more|other|further) )?(?:help|questions?|assistance)\b"
        r"|\b(?:does|did|do) (?:that|this|it|these) (?:help|work|answer|make sense|look)\b"
        r"|\b(?:is|was|sound|sounds|looks?)(?: (?:that|this|it|all))?"
        r" (?:clear|fine|good|great|helpful|ok|okay|right|useful)\b"
        r"|\b(?:can|may|could) (?:i|we) (?:be of|help|assist)\b(?!.*\b(?:which|what)\b)"
        r"|\bmakes? sense\b|\b(?:guess|you know) what\b|\bneed (?:anything|something)\b"
        r"|\A[\W_]*(?:ok|okay|right|alright|agreed|good|great|nice|cool|ready|happy|clear|see|you see|really|why"
        r"|why not"
        r"|how so|so what|the result|the reason|what happened)[\W_]*\Z"
        r"|,[^\S\n]*(?:ok|okay|alright|agreed|good)[\W_]*\Z"
        r"|\b(?:isn't|aren't|wasn't|doesn't|don't|won't) (?:it|that|this|you|they)[\W_]*\Z"
        r"|(?:sonst|noch) (?:noch )?(?:et)?was\b|\balgo m[aá]s\b|\bautre chose\b|\bqualcos'?altro\b|\baltro\W*\Z"
        r"|\bmais alguma coisa\b|\bnog iets\b|что-нибудь ещё|чем ещё|ещё чем|他に何か|还有其他|还需要"
    )
)
_REQUEST = lazy.regex(
    spaced(
        r"\bplease (?:also )?(?:choose|clarify|confirm|describe|enter|fill|give|identify|indicate|name|pick|provide"
        r"|reply|say|select|send|share|specify|state|supply|tell|type|upload)\b"
        r"|\b(?:tell|give|send) me (?:a|an|the|which|what|when|where|who|how|your|its|their)\b"
        r"|\blet me know (?:which|what|when|where|who|whether|how many|how much|your|the)\b"
        r"|\b(?:i|we)(?:'ll)? (?:(?:still|just|also) )?(?:need|require) (?:to know|your|a|an|the|its|more|some)\b"
    )
)
_SENTENCE: Final = lazy.regex(r"[^.!?。！？\n]++[.!?。！？]*")
_OFFER: Final = lazy.regex(
    r"\b(?:bescheid|fragen|helfen|behilflich|hésite\w*|questions?|aider|preguntas?|ayud\w*|dud[ae]|domande|aiut\w*|dúvidas?"
    r"|ajud\w*|vragen|helpen|вопрос\w*|помо\w*)\b|ご質問|お気軽|问题|帮助|帮您"
)
"""What ends an answer politely in other languages: nothing is asked for."""
MOST_TEXT: Final = 1 << 16
"""Nobody asks for something behind so many characters."""
LAST_WORDS: Final = 1 << 14
"""Requests stand at the end of a long answer."""
LONGEST_SENTENCE: Final = 600
_NO_REQUEST = lazy.regex(
    spaced(r"\belse\b|\b(?:if|should) you\b|\b(?:help|moment|minute|second|patience|break|time|don't|not|no longer)\b")
)


@lru_cache(maxsize=8)
def asked(text: str) -> Span | None:
    """Where the answer asks for something, as offsets of the text as written."""
    words = prose(text)
    for mark in _MARK.finditer(words.text):
        start = _sentence_start(words, mark.start())
        if not is_courtesy(words.text[start : mark.start()]) and not _is_quoted(words.text, start, mark.start()):
            return words.written(start, mark.end())
    for request in _REQUEST.finditer(words.text):
        if not _NO_REQUEST.search(words.clause_before(request.start()) + words.clause_after(request.end())):
            return words.written(*request.span())
    return _asked_in_other_words(words)


def _asked_in_other_words(words: Prose) -> Span | None:
    """Where somebody requests something in another language than English."""
    # They take a while to be read, and few answers need them.
    from karat.text.prose.ways_of_asking import OTHER_LANGUAGES

    for sentence in _SENTENCE.finditer(words.text, max(0, len(words.text) - LAST_WORDS)):
        text = sentence[0]
        if len(text) > LONGEST_SENTENCE or _OFFER.search(text):
            continue
        if any(language.requests(text) for language in OTHER_LANGUAGES):
            return words.written(*sentence.span())
    return None


def _sentence_start(words: Prose, end: int) -> int:
    nearby = max(0, end - 400)
    starts = [m.end() for m in _SENTENCE_START.finditer(words.text, nearby, end)]
    return starts[-1] if starts else nearby


def is_courtesy(sentence: str) -> bool:
    """Whether a question wants no answer but the next wish."""
    return not sentence.strip() or _COURTESY.search(sentence) is not None


def _is_quoted(text: str, start: int, end: int) -> bool:
    """Whether the question stands within quotation marks: the words of somebody else."""
    line = text.rfind("\n", 0, start) + 1
    return text.count('"', line, end) % 2 == 1 and '"' in text[end : end + 3]
