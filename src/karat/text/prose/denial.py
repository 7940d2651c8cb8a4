"""Whether words are denied in their clause: "not booked", "no slot was found", "Allocated: no".

It reads `Prose`: small letters, with a line end only where a clause ends.
"""

from typing import Final, NamedTuple

from karat.text.prose.sentences import SOFT_END, Prose, spaced
from karat.text.regexes import lazy

_FAR: Final = 120


_NEW_CLAUSE = "although|and|as|because|but|hence|if|since|so|then|therefore|though|thus|unless|until|when|which|while"
_WORD = rf"(?: (?!(?:{_NEW_CLAUSE})\b)(?:[\"']*\w+(?:['/-]\w+)*[\"']*|\(\w+\)))"
_ASIDE = "(?:, (?:however|in fact|regrettably|sadly|unfortunately),)?"
_NOT = (
    r"(?:(?<!whether or )not|\w*n't|(?:are|could|did|does|had|has|have|is|was|were)nt|never|cannot|unable"
    r"|fail(?:s|ed|ing)? to|impossible to|nicht|pas|niet|не)"
    r"(?! (?:forget|hesitate|just|later|merely|only|simply|worry)\b)"
)
# A zero counts something if it begins a clause or follows a verb; behind a noun it is a name ("dyno 0").
_ZERO = (
    r"(?<=(?:\A|[\n(:;,=|>\"-]|\b(?:and|are|currently|exactly|found|get|got|had|has|have|is|just|of|only|or|returned"
    r"|returns|show|shows|was|were|with))\s*)0(?!\w|[.,:/]\d| (?:has|is|was|will)\b)"
)
_IDIOMS = "doubt|later|matter|sooner"
_NO = (
    rf"(?:no(?! (?:\d|(?:{_IDIOMS})\b))|nothing|none|neither|nor|nobody|zero|kein\w*|geen|aucun\w*|ning[uú]n\w*"
    rf"|{_ZERO})"
)
_WITHOUT = rf"without(?:(?! (?:are|can|had|has|have|is|was|were|will)\b){_WORD}){{0,3}}"
_BEFORE = lazy.regex(
    spaced(
        rf"(?<![^\W_])(?:{_NOT}[\"']*{_ASIDE}{_WORD}{{0,4}}|{_NO}[\"']*{_WORD}{{0,7}}|{_WITHOUT}|(?:de|mis|non|un)(?=-))"
        r"(?:-| [\"']*(?:\w+-)?)\Z"
    )
)
_ANSWERED_NO = lazy.regex(
    spaced(
        r"[\"']*(?: \w+){0,2}[\"']*[^\S\n]*(?:[:=|?]|->)[^\S\n]*[\"']*"
        r"(?:(?:false|nil|none|not yet|nothing|null|n/a)(?!\w)|(?P<short>no|zero|0)(?![\w'-]|[.,:%]\d|\.? \d))"
    )
)
_NOTHING = lazy.regex(
    spaced(
        rf"(?: (?:neither|nobody|none|nothing|no)(?!\w| (?:\d|{_IDIOMS}|else|extra|further|more)\b)"
        r"|(?<=found) (?:zero|0)(?!\w|[.,:]\d))(?: \w+){0,3}"
    )
)
_GOOD_NEWS = lazy.regex(
    r"\b(?:affect|clash|concern|conflict|duplicate|error|exceed|interfere|issue|objection|obstacle|overlap|problem"
    r"|restriction|violat|warning)\w*|\bother\b(?!.* available)"
)
_WORDS_BEFORE = lazy.regex(r"(?:[\w'-]+[^\S\n]){0,2}\Z")
_GOES_ON = lazy.regex(r"[ \t]?\w")


_MARKER_BEFORE = lazy.regex(
    spaced(
        r"(?<![^\W_])(?:no|(?<!not )without|zero|free of|not(?! (?:just|merely|only|simply|without)\b)|\w*n't"
        r"|never|nothing"
        r"|none|neither|nor|hardly|ohne|kein\w*|sans|sin)"
        r"(?: (?:a|additional|all|an|and|any|are|at|base|based|be|been|being|by|contain|contains|depend|depends"
        r"|explicit"
        r"|further|had|has|have|having|here|hidden|i|implicit|in|is|its|kind|longer|made|make|makes|making|my|need|needed"
        r"|needs|of|on|or|other|our|particularly|really|relied|relies|rely|rest|rests|single|sort|such|that|the|there|this"
        r"|to|unstated|use|used|uses|very|was|way|we|were)){0,7} [\"']*\Z"
    )
)
_MARKER_AFTER = lazy.regex(
    spaced(
        r"(?:-| )free\b"
        r"|[\"']* (?:had|has|have|is|are|was|were)(?:n't| not| never)(?: been)?"
        r" (?:involved|made|necessary|needed|present|required|used)\b"
        r"|[\"')]*[^\S\n]*[:=|-][^\S\n]*(?:keine|n/a|nil|no|none|nothing|zero|0)"
        r"(?![\w'-]|[.,]\d|[\t\x20]+(?!beyond\b|here\b|at\b|were\b|was\b)\w)"
    )
)
_NO_LIST = "(?:allowed|available|offered|possible|supported|yet)"
_OFF = (
    "(?:blocked|broken|coming soon|denied|disabled|forbidden|gone|gr[ae]yed|hidden|impossible|locked|missing|off"
    "|removed"
    f"|switched off|turned off|unavailable|unsupported|not {_NO_LIST})"
)
_ACTION_BEFORE = lazy.regex(
    spaced(
        r"(?<![^\W_])(?<!\b(?:if|when|unless|because|where|while)\b[^.;\n]{0,60})"
        r"(?:cannot|\w*n't|not|never|no longer|unable|impossible|forbidden|refuses?|refused|no|nor|neither"
        r"|without|lacks?"
        r"|kein\w*|nicht|pas|niet)(?! (?:doubt|forget|hesitate|just|later|matter|merely|only|problem|simply|worry)\b)"
        rf"{_WORD.replace('and|', '')}{{0,5}}?"
        r"(?:(?:,[^\S\n]*[\w-]+){0,6},? (?:or|nor|and)(?! (?:i|it|they|we|you)\b))? [\"']*\Z"
    )
)
_ACTION_AFTER = lazy.regex(
    spaced(
        r"[\"')]*(?: (?:action|button|control|feature|function|option))?"
        r"(?: (?:are|has been|have been|is|remains?|seems?|stays?|was|were)(?: (?:also|currently|now|still"
        r"|temporarily))?"
        rf"(?:n't| not(?! (?:just|merely|only|simply)\b)| never| no longer| {_OFF})\b"
        r"| (?:isn't|aren't|wasn't|can't|cannot|won't|doesn't|does not|will not)\b"
        rf"|[^\S\n]*[:=(|?-]+[^\S\n]*(?:is )?(?:{_OFF}\b|n/a|none\b|no\b(?! \w)))"
    )
)
_DENIED_LIST = lazy.regex(spaced(rf"\b{_OFF}(?: \w+){{0,2}}[^\S\n]*:[^.;\n]*\Z"))
_GOES_ON_AS_LIST = lazy.regex(r",|[^\S\n]+(?:or|nor)\b")
_LIST_SO_FAR = lazy.regex(r"(?:,[^\S\n]*[\w-]+){0,6},[^\S\n]*\Z")


class Denial(NamedTuple):
    """Denied words with what denies them; good news where something bad is denied."""

    start: int
    end: int
    good_news: bool


def denial(text: str, start: int, end: int, after: int = 0) -> Denial | None:
    """What denies the words of prose at a place, looked for behind `after` and behind the words."""
    for before in _BEFORE.finditer(text, max(after, start - _FAR), start, overlapped=True):
        good_news = _is_good_news(text[before.start() : end])
        # "Without conflicts allocated" tells how, "no conflicts found" tells what.
        return None if good_news and before[0].startswith("without") else Denial(before.start(), end, good_news)
    word = text[start:end]
    if nothing := _NOTHING.match(text, end):
        good_news, found = _is_good_news(nothing[0]), word == "found"
        if found or (not good_news and SOFT_END not in nothing[0]):
            return Denial(start, nothing.end(), good_news)
    answer = _ANSWERED_NO.match(text, end)
    if answer and SOFT_END not in answer[0] and not (answer["short"] and _GOES_ON.match(text, answer.end())):
        counted = _WORDS_BEFORE.search(text, max(after, start - _FAR), start)
        return Denial(start, answer.end(), _is_good_news(f"{counted[0] if counted else ''}{answer[0]}"))
    return None


def denies_marker(words: Prose, start: int, end: int) -> bool:
    """Whether a marker is denied: "there is no assumption in it", "Assumptions: none"."""
    before = _MARKER_BEFORE.search(words.text, max(0, start - _FAR), start)
    return before is not None or _MARKER_AFTER.match(words.text, end) is not None


def denies_action(words: Prose, start: int, end: int) -> bool:
    """Whether an action is not on offer: "you cannot snooze this", "Snooze is disabled"."""
    if _ACTION_AFTER.match(words.text, end):
        return True
    clause = words.clause_before(start)
    # What follows tells whether a comma goes on with a list or begins anew: "cannot close, snooze or hide it".
    in_list = _GOES_ON_AS_LIST.match(words.text, end) is not None
    listed = _LIST_SO_FAR.sub(" ", clause) if in_list else clause
    return any(map(_ACTION_BEFORE.search, (clause, listed))) or _DENIED_LIST.search(clause) is not None


def _is_good_news(clause: str) -> bool:
    return _GOOD_NEWS.search(clause) is not None
