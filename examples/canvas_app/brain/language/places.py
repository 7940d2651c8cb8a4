"""Clauses about spaces and templates."""

import re

from canvas_app.brain.language.lexicon import mentions_in, sources_in, strangers_in
from canvas_app.brain.language.steps import Call, Step, Surroundings
from canvas_app.brain.language.text import unquoted, without_courtesy
from canvas_app.catalog import TEMPLATES

_SPACE = r"(?:space|workspace|board)"
_CREATE = re.compile(
    rf"(?:create|make|start|open|set up|spin up|build|add|begin|i(?:'d like| want| need)|give me)\b.*?\b{_SPACE}\b"
    rf"|new {_SPACE}\b",
    re.I,
)
_ELSEWHERE = re.compile(rf"\b(?:to|on|onto|in|into|from) (?:this|the|my|our|that)(?: current)? {_SPACE}\b.*$", re.I)
_CALLED = re.compile(r"\b(?:called|named|titled|with the name|by the name of|for)\b:?\s+(?P<name>.+)$", re.I)
_NAME_BEFORE = re.compile(
    rf"\b(?:a|an|another|the)\s+(?:new |fresh |separate )?(?P<name>[\"'].+?[\"']|"
    rf"[A-Z][\w&-]*(?: [A-Z0-9][\w&-]*)*) {_SPACE}\b"
)
_NAME_AFTER = re.compile(rf"\b{_SPACE}:?\s+(?P<name>[\"'].+?[\"']|[A-Z][\w&'-]*(?: [A-Z0-9&][\w&'-]*)*)$")
_GO = (
    r"switch(?: over)?|go(?: back)?|jump|move|take me|bring me|navigate|head(?: over| back)?|return|open|change|"
    r"show me|visit|back|let's go|enter"
)
_ASKED_TEMPLATE = re.compile(
    r"(?:\b(?:the|a|an|my|called|named)\b\s+)?[\"']?([\w -]{2,40}?)[\"']? (?:template|layout|preset)\b"
    r"|\btemplate (?:called |named )?[\"']?([\w -]{2,40})",
    re.I,
)
_FILLER = re.compile(
    r"\b(?:apply|use|load|start|set|up|lay|out|arrange|give|me|add|put|switch|try|i|want|like|need|with|"
    r"the|a|an|some|one|to|of|my|please|here|this|space|from|for)\b",
    re.I,
)
_GO_TO = re.compile(rf"^(?:{_GO})\b(?: (?:to|into|in|over to|back to))?\s*(?P<name>.*)$", re.I)
_TEMPLATE_VERB = re.compile(
    r"\b(?:apply|use|load|start|set up|lay out|arrange|give me|add|put|switch|try|want|like|need|with)\b", re.I
)


def read_create(clause: str, around: Surroundings) -> list[Step]:
    plain = _ELSEWHERE.sub("", without_courtesy(clause))
    if strangers_in(plain) or not _CREATE.match(plain):
        return []
    if re.match(r"(?:open|start)\b", plain, re.I) and not re.search(r"\b(?:new|another)\b", plain, re.I):
        return []
    named = _CALLED.search(plain) or _NAME_AFTER.search(plain) or _NAME_BEFORE.search(plain)
    name = unquoted(re.sub(rf"^(?:the|my|our) | {_SPACE}$", "", named["name"], flags=re.I)) if named else ""
    return [Call("create_space", {"name": name} if name else {})]


_TO_PLACE = re.compile(
    r"^(?:switch(?: over| back)?|go(?: back| over)?|jump|take me|bring me|navigate|head(?: over| back)?) (?:back )?to "
    r"(?:the )?(?P<name>[\"']?[A-Z].*)$"
)
_INTO = re.compile(
    r"\s+(?:to|onto|into) (?:the |my |our )?(?P<name>(?-i:[A-Z])[\w&'-]*(?: (?-i:[A-Z0-9])[\w&'-]*)*)(?: space)?$", re.I
)


def elsewhere(clause: str, around: Surroundings) -> tuple[str, str]:
    """The clause less the other space that it names, and that space; empty where it names none."""
    for name in around.spaces:
        if name == around.here:
            continue
        case = "" if " " in name else "(?-i:"
        spelled = f"{case}{re.escape(name)}{')' * bool(case)}"
        place = re.search(
            rf"\s+(?:to|on|onto|in|into|from|for|of|about|off) (?:the |my |our )?{spelled}(?: {_SPACE})?$", clause, re.I
        )
        if place:
            return clause[: place.start()], name
    return clause, ""


def unknown_place(clause: str, around: Surroundings) -> str:
    """A name that stands where the name of a space would, of which there is none."""
    place = _INTO.search(clause)
    if not place or sources_in(place["name"]) or mentions_in(place["name"]) or strangers_in(place["name"]):
        return ""
    known = {name.casefold() for name in around.spaces} | {"canvas", "board", "screen", "page"}
    return "" if place["name"].casefold() in known else place["name"]


def read_switch(clause: str, around: Surroundings) -> list[Step]:
    """Go to a space that exists, or to one that is called a space."""
    match = _GO_TO.match(without_courtesy(clause))
    if not match:
        return []
    about_spaces = re.search(rf"\b{_SPACE}s?\b", clause, re.I) is not None
    wanted = re.sub(
        rf"\b(?:the|my|our|a|an|another|different|other|to|one|please|{_SPACE}s?)\b", " ", match["name"], flags=re.I
    )
    wanted = unquoted(" ".join(wanted.split()))
    known = next((name for name in around.spaces if name.casefold() == wanted.casefold()), None)
    if known is None and wanted:
        inside = [
            name
            for name in around.spaces
            if name.casefold() in wanted.casefold() or wanted.casefold() in name.casefold()
        ]
        known = inside[0] if len(inside) == 1 and len(wanted) >= 4 else None
    if known:
        return [Call("switch_space", {"name": known})]
    if about_spaces:
        return [Call("switch_space", {"name": wanted} if wanted else {})]
    place = _TO_PLACE.match(without_courtesy(clause)[:1].lower() + without_courtesy(clause)[1:])
    if place and not (mentions_in(place["name"]) or sources_in(place["name"]) or strangers_in(place["name"])):
        return [Call("switch_space", {"name": unquoted(place["name"])})]
    return []


def read_template(clause: str, around: Surroundings) -> list[Step]:
    named = [template.name for template in TEMPLATES if re.search(rf"\b{template.name}\b", clause, re.I)]
    says_template = re.search(r"\btemplates?\b|\b(?:layout|preset)\b", clause, re.I) is not None
    if named and (says_template or _TEMPLATE_VERB.search(clause) or clause.casefold() == named[0].casefold()):
        return [Call("apply_template", {"template": named[0]})]
    if not says_template:
        return []
    if re.match(r"(?:what|which|list|are there|do you have)\b", without_courtesy(clause), re.I):
        return []
    for template in TEMPLATES:
        if any(re.search(rf"\b{word}\b", clause, re.I) for word in template.name.split()):
            return [Call("apply_template", {"template": template.name})]
    asked = _ASKED_TEMPLATE.search(without_courtesy(clause))
    words = _template_name((asked[1] or asked[2] or "") if asked else "")
    return [Call("apply_template", {"template": words} if words else {})]


def _template_name(words: str) -> str:
    return " ".join(_FILLER.sub(" ", words).split())
