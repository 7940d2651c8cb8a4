"""Tidying a message and cutting it into clauses."""

import re

_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "`": "'", "–": "-", "—": "-", "…": "..."})
_QUOTED = re.compile(r"(?<!\w)\"[^\"\n]{1,80}\"|(?<!\w)'[^'\n]{1,80}'(?!\w)")

ADD_VERBS = (
    r"add|show|put|pin|place|insert|drop in|bring (?:up|in)|pull (?:up|in)|display|include|give me|get me|let me see|"
    r"surface|stick|throw|i(?:'d| would) like|i want|i(?:'ll| will)? need|can i (?:get|have|see)|could i (?:get|"
    r"have|see)|"
    r"may i (?:get|have|see)|let's (?:have|see|add)|track|watch|monitor|keep an eye on|open(?: up)?|set up"
)
REMOVE_VERBS = (
    r"remove|delete|drop|get rid of|take (?:away|off|down|out)|take(?! me\b)|hide|close|ditch|clear|lose|kill|dismiss|"
    r"discard|unpin|stop (?:showing|tracking|watching)|i no longer need|i don't need|i do not need|i don't want|no more"
)
CHANGE_VERBS = r"rename|retitle|call|change|update|edit|set|make|filter|narrow|limit|restrict|focus|move|relabel|name"
SPACE_VERBS = (
    r"create|make|start|spin up|set up|new|switch|go|jump|take me|bring me|navigate|head|return|apply|use|load"
)

_LEAD_VERB = (
    rf"(?:please\s+)?(?:{ADD_VERBS}|{REMOVE_VERBS}|{CHANGE_VERBS}|{SPACE_VERBS}|summari[sz]e|tell|write|generate)\b"
)
_CUT = re.compile(
    rf"(?:[.;!?]+\s+|\n+|\s*,?\s+(?:and then|then|after that|afterwards|and also|also|and|but)\s+(?={_LEAD_VERB})"
    rf"|\s*,\s+(?={_LEAD_VERB}))",
    re.I,
)
_POLITE = re.compile(
    r"^(?:(?:hey|hi|hello|ok|okay|so|now|well|and|then|also|first|next|finally|please|pls|kindly|just|maybe|assistant|"
    r"can you|could you|would you|will you|can we|could we|shall we|i want you to|i'd like you to|i would like you to|"
    r"i need you to|you should|let's|go ahead and|if you can|would you mind|do me a favou?r and)\b[\s,:!-]*)+",
    re.I,
)


def either(alternatives: str) -> str:
    """One group from lines of alternatives, so that long lists can be read."""
    return f"(?:{'|'.join(line.strip() for line in alternatives.strip().splitlines())})"


def tidy(message: str) -> str:
    """Plain quotes and dashes, no double blanks; lines are kept."""
    lines = message.translate(_QUOTES).splitlines()
    return "\n".join(" ".join(line.split()) for line in lines).strip()


_NEGATION = (
    r"(?:please |but |and )*(?:don't|do not|without|no need to|rather than|instead of|avoid)\s+(?:\w+ ){0,2}?"
    r"(?:add|show|put|remov|delet|creat|switch|chang|renam|us|call|apply|set|touch|open|mak|do|mov|"
    r"generat)\w*\b[^,;.!?\n]*"
)
_NEGATED = re.compile(rf"(?:^|(?<=[,;.!?\n])\s*|\s+){_NEGATION}", re.I)


def without_negations(text: str) -> str:
    """The text less what it says not to do: nothing is to be done about that."""
    return _NEGATED.sub(" ", text).strip(" ,;")


def clauses(text: str) -> list[str]:
    """The commands of a message, one by one. Quoted names are never cut."""
    quoted: list[str] = []

    def hide(match: re.Match[str]) -> str:
        quoted.append(match[0])
        return f"\x00{len(quoted) - 1}\x00"

    pieces = _CUT.split(_QUOTED.sub(hide, text))
    shown = [re.sub(r"\x00(\d+)\x00", lambda match: quoted[int(match[1])], piece) for piece in pieces]
    return [piece.strip(" ,.!?;") for piece in shown if piece.strip(" ,.!?;")]


def without_courtesy(clause: str) -> str:
    return _POLITE.sub("", clause).strip()


def starts_with(clause: str, verbs: str) -> bool:
    """Whether the clause, less courtesies, begins with one of the verbs."""
    return re.match(rf"(?:{verbs})\b", without_courtesy(clause), re.I) is not None or (
        re.match(rf"(?:{verbs})\b", clause, re.I) is not None
    )


def unquoted(name: str) -> str:
    return name.strip().strip("\"'").strip(" .,!?;:")
