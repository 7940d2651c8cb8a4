"""Clauses about the canvas: add, remove, rename, filter, move."""

import re

from canvas_app.brain.language.lexicon import (
    CARD_WORD,
    Mention,
    filter_field_in,
    filters_in,
    fitting,
    mentions_in,
    several_in,
    strangers_in,
    wants_filter,
)
from canvas_app.brain.language.steps import Call, Say, Step, Surroundings
from canvas_app.brain.language.text import ADD_VERBS, REMOVE_VERBS, starts_with, unquoted, without_courtesy
from canvas_app.records import Component

_STRICT_ADD = r"add|put|pin|place|insert|drop in|bring up|pull up|stick|throw|display|include|surface|set up"
_TITLE_TAIL = re.compile(
    r"[, ]+(?:and )?(?:called|named|titled|entitled|with (?:the |a )?title|under the name)\s*:?\s+(.+)$", re.I
)
_IT = re.compile(r"\b(?:it|that|this|that one|this one|the last one)\b", re.I)
_ALL = re.compile(r"\b(?:everything|all (?:of )?(?:them|it|the \w+|\w+)|the (?:whole )?canvas|(?:the )?board)\b", re.I)
_TAKE_OFF = re.compile(
    r"(?:take|get|move|pull) .+ (?:off|away|out|down)\b|.+ (?:can|may|should|must|has to) go\b", re.I
)
_OFF_CANVAS = re.compile(
    r"\b(?:from|off|out)(?: of)?(?: (?:the|my|this))? (?:canvas|board|space|screen|page|here)\b.*$"
    r"|\b(?:off|away|out|down|please|(?:can|may|should|must|has to) go(?: away)?)$",
    re.I,
)
_EXCEPT = re.compile(
    r"(?:,|\bbut|\band)*\s*\b(?:not|except(?:ing)?(?: for)?|excluding|without|instead of|rather than|other than|"
    r"apart from|besides|but(?: keep| leave)?(?! n))\b\s+(?P<rest>[^;.!?\n]+)$",
    re.I,
)
_NARROWED_BY_NOT = re.compile(
    r"\b(?:not|except|excluding|without)\b\s+(?:by|from|in|for|of|labell?ed|on)\b"
    r"|\b(?:that|which) (?:are|is)(?: not|n't)\b",
    re.I,
)
ONE_VALUE = "I can't do that: a component can be narrowed to a value, not to all but one."
WHICH_TO_KEEP = "I can't do that: I do not know which component is to stay. Nothing is changed."
ONE_AT_A_TIME = "I can't do that: it is not clear which value is for which component. Ask for one at a time."
_TITLE = r"(?:title|name|label|heading)"
_SET = r"(?:change|set|update|edit|make)"
_RENAMES = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        r"(?:rename|retitle|relabel) (?P<card>.+?) (?:to|as|into) (?P<title>.+)$",
        rf"{_SET} (?:the )?{_TITLE} (?:of|for|on) (?P<card>.+?) (?:to|as|be|into) (?P<title>.+)$",
        rf"{_SET} (?P<card>.+?)(?:'s)? {_TITLE} (?:to|as|be|into) (?P<title>.+)$",
        r"(?:call|name) (?P<card>.+?) (?:as )?(?P<title>[\"'].+|(?-i:[A-Z]).*)$",
    )
)
_CHANGE_START = r"rename|retitle|relabel|change the (?:title|name)|update|edit"
_FRONT = ("top", "front", "start", "beginning", "first")
_MOVE = re.compile(
    r"\b(?:move|put|bring|send|push)\b.*?(?:\b(?:to|at|on)(?: the)?)? "
    r"(?P<edge>top|front|start|beginning|first|bottom|end|back|last)$",
    re.I,
)
_NARROW = re.compile(
    r"^(?:filter|narrow|limit|restrict|focus|change|set|update|switch|make|show only|only show)\b", re.I
)


def _card_argument(words: str, around: Surroundings) -> str | None:
    """How the tool should look for the card that the words mean; nothing when they mean none."""
    spoken = re.sub(
        rf"^(?:the|my|our|this|that|a|an)\s+|\s+{CARD_WORD}$|\b{CARD_WORD}\b", "", words.strip(), flags=re.I
    ).strip()
    by_name = [card for card in around.cards if card.name.casefold() == unquoted(spoken).casefold()]
    by_name = by_name or [
        card for card in around.cards if re.search(rf"(?<!\w){re.escape(card.name)}(?!\w)", words, re.I)
    ]
    if by_name:
        return by_name[0].name
    mentions = mentions_in(words)
    if mentions:
        return _closest(mentions[0], words, around)
    if re.fullmatch(rf"{_IT.pattern}|(?:something|one|the|a|an|my| )*", spoken, re.I):
        return around.last_card.name if around.last_card else None
    return unquoted(spoken) or None


def _closest(mention: Mention, words: str, around: Surroundings) -> str:
    """The card on the canvas that fits the mention best, else the name that such a card would have."""
    wanted = fitting(mention, filters_in(words, around))
    same = [card for card in around.cards if _is(card, mention)]
    exact = [card for card in same if wanted and wanted.items() <= dict(card.filters).items()]
    if len(exact or same) == 1:
        return (exact or same)[0].name
    if same and mention.kind:
        return same[0].kind.name
    return " ".join(word for word in (mention.source or "", (mention.kind or "").replace("_", " ")) if word)


def _is(card: Component, mention: Mention) -> bool:
    return mention.kind in (None, card.kind.kind) and mention.source in (None, card.kind.source.value)


def read_remove(clause: str, around: Surroundings) -> list[Step]:
    plain = without_courtesy(clause)
    if not starts_with(clause, REMOVE_VERBS) and not _TAKE_OFF.match(plain):
        return []
    rest = _OFF_CANVAS.sub("", re.sub(rf"^(?:{REMOVE_VERBS})\b", "", plain, flags=re.I))
    if excepted := _EXCEPT.search(rest):
        return _all_but(rest[: excepted.start()], excepted["rest"], around)
    if _ALL.search(rest) and not mentions_in(rest):
        each: list[Step] = [Call("remove_component", {"component": str(card.id)}) for card in around.cards]
        return each or [Call("remove_component")]
    mentions = mentions_in(rest)
    if len(mentions) > 1:
        return [Call("remove_component", {"component": _closest(mention, rest, around)}) for mention in mentions]
    if re.fullmatch(
        rf"(?: ?(?:a|an|one|some|the|of|my))* ?(?:{CARD_WORD}|something|one)?(?: of the)?", rest.strip(), re.I
    ):
        return [Call("remove_component")]
    card = _card_argument(rest, around)
    return [Call("remove_component", {"component": card} if card else {})]


def _all_but(wanted: str, kept: str, around: Surroundings) -> list[Step]:
    """Remove what is named, or every card, less what is to stay."""

    def meant(words: str) -> list[Component]:
        by_name = [card for card in around.cards if card.name.casefold() in words.casefold()]
        return by_name or [card for card in around.cards if any(_is(card, m) for m in mentions_in(words))]

    staying = meant(kept)
    going = meant(wanted) if mentions_in(wanted) else list(around.cards) if _ALL.search(wanted) else []
    if not staying or not going:
        return [Say(WHICH_TO_KEEP)]
    steps: list[Step] = [Call("remove_component", {"component": str(c.id)}) for c in going if c not in staying]
    return steps or [Say(WHICH_TO_KEEP)]


def _update(card: str | None, **changes: str) -> Call:
    return Call("update_component", {"component": card, **changes} if card else changes)


def read_change(clause: str, around: Surroundings) -> list[Step]:
    """Rename, move or narrow a card that is there."""
    plain = without_courtesy(clause)
    renamed = next((match for pattern in _RENAMES if (match := pattern.match(plain))), None)
    if renamed:
        unnamed = re.fullmatch(rf"(?:the|a|my)? ?{CARD_WORD}", renamed["card"], re.I)
        return [_update(None if unnamed else _card_argument(renamed["card"], around), title=unquoted(renamed["title"]))]
    moved = _MOVE.search(plain)
    if moved and (mentions_in(plain) or _IT.search(plain)):
        position = "first" if moved["edge"].casefold() in _FRONT else "last"
        words = re.split(r" (?:to|at|on) (?:the )?", plain, maxsplit=1)[0]
        return [_update(_card_argument(words, around), position=position)]
    if _NARROW.match(plain) and (narrowed := _narrowed(plain, around)):
        return narrowed
    if starts_with(clause, _CHANGE_START):
        return [_update(_card_argument(re.sub(rf"^(?:{_CHANGE_START})\b", "", plain, flags=re.I), around))]
    return []


def _narrowed(plain: str, around: Surroundings) -> list[Step]:
    mentions = mentions_in(plain)
    if not mentions and not _IT.search(plain):
        return []
    there = [card for card in around.cards if mentions and _is(card, mentions[0])] or (
        [around.last_card] if around.last_card and not mentions else []
    )
    filters = filters_in(plain, around)
    if several_in(plain, around):
        return [Say("I can't do that: a component can be narrowed to one value at a time.")]
    fit = {name: value for name, value in filters.items() if there and name in there[0].kind.filters}
    if there and fit:
        return [Call("update_component", {"component": there[0].name, **fit})]
    if mentions and re.match(r"filter|narrow|limit|restrict|focus|show only|only show", plain, re.I):
        return _added(mentions, filters, plain, None)
    return []


def _added(mentions: list[Mention], filters: dict[str, str], clause: str, title: str | None) -> list[Step]:
    steps: list[Step] = []
    for mention in mentions:
        arguments = {"integration": mention.source or "", "component": mention.kind or "", "title": title or ""}
        fit = fitting(mention, filters)
        if len(mentions) == 1 and mention.kind:
            fit = {**fit, **filters}
        by = filter_field_in(clause)
        if fit or wants_filter(clause):
            arguments |= fit or {"filter_by": by or ""}
            steps.append(Call("add_filtered_component", {key: value for key, value in arguments.items() if value}))
        else:
            steps.append(Call("add_component", {key: value for key, value in arguments.items() if value}))
    return steps


def read_add(clause: str, around: Surroundings, strict: bool = False) -> list[Step]:
    """Add cards. Outside `strict`, softer verbs count as well, and so does a clause that only names a component."""
    title = _TITLE_TAIL.search(clause)
    body = clause[: title.start()] if title else clause
    plain = without_courtesy(body)
    unwanted = _EXCEPT.search(plain)
    if unwanted and starts_with(body, _STRICT_ADD if strict else ADD_VERBS) and _NARROWED_BY_NOT.search(plain):
        return [Say(ONE_VALUE)]
    plain = plain[: unwanted.start()] if unwanted else plain
    filters = filters_in(plain, around)
    mentions = mentions_in(plain)
    if not mentions and "channel" in filters:
        mentions = [Mention("slack", "channel_activity")]
    verb = starts_with(body, _STRICT_ADD if strict else ADD_VERBS)
    card_word = re.search(rf"\b{CARD_WORD}\b", plain, re.I) is not None
    if (
        verb
        and not mentions
        and (card_word or re.fullmatch(rf"(?:{_STRICT_ADD})(?: (?:something|one|it))?", plain, re.I))
    ):
        return (
            [] if strangers_in(plain) else [Call("add_filtered_component" if wants_filter(plain) else "add_component")]
        )
    bare_name = (
        not strict
        and len(plain.split()) <= 6
        and not re.match(r"(?:what|who|how|why|when|is|are|do|does)\b", plain, re.I)
    )
    if not mentions or not (verb or bare_name):
        return []
    if strict and not (card_word or any(mention.kind for mention in mentions)):
        return []
    named = unquoted(title[1]) if title else None
    several = {name: values for name, values in several_in(plain, around).items() if name in filters}
    if not several:
        return _added(mentions, filters, plain, named)
    if len(mentions) > 1 or len(several) > 1:
        return [Say(ONE_AT_A_TIME)]
    ((name, values),) = several.items()
    return [step for value in values for step in _added(mentions, {**filters, name: value}, plain, named)]
