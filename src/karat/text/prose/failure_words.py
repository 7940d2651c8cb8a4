"""Whether a short text says at once that something failed: "Error: nothing was booked", but not "0 errors found"."""

from __future__ import annotations

import re

from karat.text.regexes import lazy
from karat.text.words import PUBLISHED

HEAD = 2_000
LINE = 300
"""So much of a text and of its first line is looked at: what failed says so at once, and the rest is data."""

_LABEL = lazy.pattern(
    r"(?i)(?:tool |function )?(?:result|output|observation|response|answer|message|content)\s*[:=]\s*|tool\s*[:=]\s*"
)
_MARKS = lazy.pattern(r"(?:(?!<\w)[\W_])+")
_COUNT = lazy.pattern(r"(?i)(?:no|0|zero|none|without|not an?)\b[\s:]*(?:\w+\s+)?(?:error|exception|failure|problem)")
_RAISED = lazy.pattern(r"[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Timeout|Warning)\s*[:(]")
_ZERO = r"(?!\s*(?:0\b|(?:none|no|null|nil|false|n/a)\W*$))"
_NAMED = (
    r"(?:error|exception|failure)(?:\s*[\[(][^\])\n]{0,60}[\])]|\s+(?:code\s+)?[A-Z]{0,8}-?\d{1,5})?"
    rf"(?:\s*[:=!\]]{_ZERO}|\s+[-\u2013\u2014]\s|\s*\.?\s*$|\s+(?:occurred|happened|while|when|during)\b"
    r"|\s+(?!handling|reporting|logging|tracking|monitoring|correcting|messaging)\w+ing\s\S)"
    rf"|(?:err|errno|fail|failed|fatal|failure)\s*[:=!]{_ZERO}"
    r"|failed\s*(?:[.,;\u2013\u2014-]|$)"
    r"|(?:http[ /]?(?:\d\.\d )?|status(?: code)?\s*[:=]?\s*)[45]\d\d\b"
    r"|[45]\d\d (?:client|server|bad|not|internal|forbidden|unauthorized|too many)\b"
    r"|<(?:\w+_)?error\b"
)
_SUBJECT_FAILED = lazy.pattern(
    r"(?i)(?:[^\W\d]+ ){1,3}(?:has |have |had )?failed\s*(?:[.:!,;\u2013\u2014-]|$|because\b|due\b|with\b|after\b)"
)
_FLAG = lazy.pattern(
    r"^[\s\-*>\"']*(?:success|succeeded|successful|ok)[\"'*]*\s*[:=]\s*[\"'*]*(?:false|no|0)\b"
    r"|^[\s\-*>\"']*(?:status|outcome)[\"'*]*\s*[:=]\s*[\"'*]*(?:error|failed|failure|fail)\b"
    r"|<(?:success|ok)>\s*(?:false|no|0)\s*</|<(?:status|outcome)>\s*(?:error|fail\w*)\s*</",
    re.IGNORECASE | re.MULTILINE,
)
_OPENING = (
    rf"(?i)(?:«failure_kinds»\s+)*(?:{_NAMED})|«errors_in_other_languages»\s*[:\uff1a]|«failure_openings»"
    rf"|«refusal_openings»|(?:[^\W\d]+ ){{1,3}}(?:could not|couldn't)\b|errors\s*:{_ZERO}|<_?\w*RpcError\b"
)


def opens_with_failure(text: str) -> bool:
    """Whether a text opens with words that say that something failed."""
    head = text[:HEAD].lstrip()
    line = _strip_marks(head.split("\n", 1)[0][:LINE]).replace("\u2019", "'")
    if _COUNT.match(line):
        return False
    openings = (_RAISED, PUBLISHED.regex(_OPENING), _SUBJECT_FAILED)
    return any(opening.match(line) for opening in openings) or _FLAG.search(head) is not None


def _strip_marks(line: str) -> str:
    """A line without the marks and labels that it begins with."""
    for pattern in (_MARKS, _LABEL, _MARKS):
        if found := pattern.match(line):
            line = line[found.end() :]
    return line.rstrip("*_` ")
