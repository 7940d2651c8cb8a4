"""Messages that answer the question which is still open."""

import re

from canvas_app.brain.language.steps import Call, Forget, Step, Surroundings
from canvas_app.brain.language.text import unquoted
from canvas_app.records import Option

_CANCEL = re.compile(
    r"(?:cancel|never ?mind|forget (?:it|that)|no|nothing|none(?: of them)?|stop|leave it)(?: thanks?| thank you)?",
    re.I,
)
_ORDINALS = {
    "first": 0,
    "1": 0,
    "one": 0,
    "second": 1,
    "2": 1,
    "two": 1,
    "third": 2,
    "3": 2,
    "three": 2,
    "fourth": 3,
    "4": 3,
    "last": -1,
}
_LEAD = re.compile(
    r"^(?:call it|name it|let's say|i(?:'d| would) (?:say|like|choose|pick|take)|make it|use|take|pick|choose|"
    r"it's|the|for|in|to|please|ok|okay|then|just)\s+",
    re.I,
)


def _names(option: Option) -> set[str]:
    """What a person may call an option: its label, or the value that it stands for."""
    return {name.casefold().lstrip("#") for name in (option.label, *option.arguments.values())}


def _chosen(words: str, options: tuple[Option, ...]) -> Option | None:
    plain = unquoted(words).casefold().lstrip("#")
    exact = [option for option in options if plain in _names(option)]
    if exact:
        return exact[0]
    ordinal = re.fullmatch(r"(?:number |option |no\. ?)?(\w+)(?: one| option)?", plain)
    if ordinal and ordinal[1] in _ORDINALS and -len(options) <= _ORDINALS[ordinal[1]] < len(options):
        return options[_ORDINALS[ordinal[1]]]
    partial = [
        option
        for option in options
        if re.search(rf"(?<![\w-]){re.escape(option.label.lstrip('#'))}(?![\w-])", words, re.I)
    ]
    if not partial and len(plain) >= 4:
        partial = [option for option in options if plain in option.label.casefold()]
    return partial[0] if len(partial) == 1 else None


def is_clear_answer(text: str, around: Surroundings) -> bool:
    """Whether the message cannot well be anything but an answer, even if it reads like a command."""
    pending = around.pending
    if pending is None:
        return False
    plain = unquoted(text).casefold()
    named = re.match(r"(?:call|name) it\b", plain) is not None
    return any(plain == option.label.casefold() for option in pending.options) or (not pending.options and named)


def read_answer(text: str, around: Surroundings) -> Step | None:
    """The completed call, a cancellation, or nothing when the message is about something else."""
    pending = around.pending
    if pending is None:
        return None
    if _CANCEL.fullmatch(text.strip(" .!")):
        return Forget()
    words = text
    while (shorter := _LEAD.sub("", words)) != words:
        words = shorter
    if pending.options:
        option = _chosen(words, pending.options)
        return Call(pending.tool, {**pending.arguments, **option.arguments}) if option else None
    name = unquoted(words)
    return Call(pending.tool, {**pending.arguments, pending.field: name}) if name else None
