"""What an HTML tag does to the words around it: hides them, breaks the line, or nothing."""

import re
from typing import Final, NamedTuple

from karat.text.regexes import lazy


def _names(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


TAG: Final = lazy.pattern(
    r"<(?P<close>/?)(?P<name>[a-zA-Z][\w:.-]{0,40})(?P<attributes>(?:[^<>\"']|\"[^\"]{0,512}\"|'[^']{0,512}')*+)>"
)
_ATTRIBUTES = lazy.pattern(r"(?:\s+[\w:@.-]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'=<>`]+))?)*+\s*/?")
_BARE_WORD = lazy.pattern(r"\s[\w-]+(?=\s|\Z)")
_HIDDEN_ATTRIBUTE = lazy.pattern(r"(?:\A|\s)hidden(?:\s*=|\s|/|\Z)", re.IGNORECASE)
_OPEN_ATTRIBUTE = lazy.pattern(r"(?:\A|\s)open(?:\s*=|\s|/|\Z)", re.IGNORECASE)
_STYLE = lazy.pattern(r"\bstyle\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE)
_ZERO = r"0(?:\.0*)?(?:px|em|rem|pt|%|vw|vh)?(?![\w.])"
_HIDDEN_STYLE = lazy.pattern(
    rf"display:none|visibility:(?:hidden|collapse)|content-visibility:hidden|opacity:{_ZERO}|font-size:{_ZERO}"
    rf"|(?<![\w-])(?:max-)?(?:height|width):{_ZERO}|(?<!-)color:(?:transparent|rgba\([^)]*,0(?:\.0*)?\))"
    r"|(?:left|top|right|bottom|text-indent|margin-left|margin-top):-\d{3,}|clip:rect\(0|clip-path:inset\((?:50|100)%"
    r"|scale\(0\)|text-decoration[\w-]*:[\w\s]*line-through",
    re.IGNORECASE,
)
_BLOCKS: Final = _names(
    "address article aside blockquote br caption dd details div dl dt fieldset figcaption figure footer form h1 h2 h3"
    " h4 h5 h6 header hr li main nav ol option p pre section summary table tbody td tfoot th thead tr ul"
)
_INLINE: Final = _names(
    "a abbr b bdi bdo big body cite code data del dfn em font head html i iframe img input ins kbd label link mark meta"
    " noscript object picture q rp rt ruby s samp script select small source span strike strong style sub sup svg"
    " template textarea time title track tt u var video wbr"
)
_VOID: Final = _names("area base br col embed hr img input link meta source track wbr")
_NEVER_READ: Final = _names("del head iframe noscript object s script strike style svg template title video")


class Tag(NamedTuple):
    """One tag: its name in small letters, what it is shown as, and whether it opens what no reader sees."""

    name: str
    closes: bool
    shown: str
    hides: bool


def read_tag(found: re.Match[str]) -> Tag | None:
    """The tag that was found; None if it is text in angle brackets ("<order id>")."""
    name, attributes = found["name"].lower(), found["attributes"]
    known = name in _BLOCKS or name in _INLINE
    if not _ATTRIBUTES.fullmatch(attributes) or (not known and _BARE_WORD.search(attributes)):
        return None
    closes = bool(found["close"])
    hides = not closes and name not in _VOID and not attributes.endswith("/") and _hides(name, attributes)
    return Tag(name, closes, "\n" if name in _BLOCKS else "", hides)


def _hides(name: str, attributes: str) -> bool:
    if name in _NEVER_READ or _HIDDEN_ATTRIBUTE.search(attributes):
        return True
    if name == "details":
        return not _OPEN_ATTRIBUTE.search(attributes)
    style = _STYLE.search(attributes)
    return style is not None and _HIDDEN_STYLE.search("".join((style[0] or "").split())) is not None
