"""Whether a short text says at once that something failed: "Error: nothing was booked", but not "0 errors found"."""

from __future__ import annotations

import re

from karat.text.regexes import lazy

HEAD = 2_000
LINE = 300
"""So much of a text and of its first line is looked at: what failed says so at once, and the rest is data."""

_LABEL = lazy.pattern(
    r"(?:(?:tool |function )?(?:result|output|observation|response|answer|message|content)\s*[:=]\s*|tool\s*[:=]\s*)",
    re.IGNORECASE,
)
_MARKS = lazy.pattern(r"(?:(?!<\w)[\W_])+")
_COUNT = lazy.pattern(
    r"(?:no|0|zero|none|without|not an?)\b[\s:]*(?:\w+\s+)?(?:error|exception|failure|problem)", re.IGNORECASE
)
_RAISED = lazy.pattern(r"[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Timeout|Warning)\s*[:(]")
_KIND = (
    "an|a|the|tool|fatal|internal|unexpected|unknown|critical|validation|server|api|runtime|execution|network|database"
    "|http|system|request|connection|timeout|application"
)
_ZERO = r"(?!\s*(?:0\b|(?:none|no|null|nil|false|n/a)\W*$))"
_FAILED = lazy.pattern(
    rf"(?:(?:{_KIND})\s+)*(?:error|exception|failure)(?:\s*[\[(][^\])\n]{{0,60}}[\])]|\s+(?:code\s+)?[A-Z]{{0,8}}-?\d{{1,5}})?"
    rf"(?:\s*[:=!\]]{_ZERO}|\s+[-\u2013\u2014]\s|\s*\.?\s*$|\s+(?:occurred|happened|while|when|during)\b"
    r"|\s+(?!handling|reporting|logging|tracking|monitoring|correcting|messaging)\w+ing\s\S)"
    rf"|(?:err|errno|fail|failed|fatal|failure)\s*[:=!]{_ZERO}"
    r"|failed\s*(?:[.,;\u2013\u2014-]|$|to\b|because\b|due\b|with\b|after\b|in\b|on\b)"
    r"|(?:(?:i|we|it|tool)\s+)?(?:was |were |am |are |have |has )?(?:could not|couldn['\u2019]t|unable to|failed to)\b"
    r"|traceback \(most recent|something went wrong|oops\b"
    r"|there (?:was|were|has been) (?:an? |some )?(?:error|problem|failure|exception)"
    r"|(?:access|permission)(?: was| is)? denied|unauthori[sz]ed\b|forbidden\b|bad request\b|internal server error"
    r"|(?:(?:the )?(?:request|connection|operation|call|tool) )?timed out\b"
    r"|(?:invalid|missing) (?:argument|input|request|parameter|value|date|field|credential|token|api key)s?\b"
    r"|not (?:allowed|permitted|authori[sz]ed)\b|unknown tool\b|unsupported operation\b"
    r"|(?:http[ /]?(?:\d\.\d )?|status(?: code)?\s*[:=]?\s*)[45]\d\d\b"
    r"|[45]\d\d (?:client|server|bad|not|internal|forbidden|unauthorized|too many)\b"
    r"|<(?:\w+_)?error\b"
    r"|(?:fehler|erreur|errore|erro|fout|fel|b\u0142\u0105d|\u043e\u0448\u0438\u0431\u043a\u0430)\s*:"
    r"|(?:\u9519\u8bef|\u932f\u8aa4|\u30a8\u30e9\u30fc|\uc624\ub958)\s*[:\uff1a]",
    re.IGNORECASE,
)
_SUBJECT_FAILED = lazy.pattern(
    r"(?:[^\W\d]+ ){1,3}(?:has |have |had )?failed\s*(?:[.:!,;\u2013\u2014-]|$|because\b|due\b|with\b|after\b)",
    re.IGNORECASE,
)
_FLAG = lazy.pattern(
    r"^[\s\-*>\"']*(?:success|succeeded|successful|ok)[\"'*]*\s*[:=]\s*[\"'*]*(?:false|no|0)\b"
    r"|^[\s\-*>\"']*(?:status|outcome)[\"'*]*\s*[:=]\s*[\"'*]*(?:error|failed|failure|fail)\b"
    r"|<(?:success|ok)>\s*(?:false|no|0)\s*</|<(?:status|outcome)>\s*(?:error|fail\w*)\s*</",
    re.IGNORECASE | re.MULTILINE,
)
_REFUSED = lazy.pattern(
    rf"(?:cannot|can['\u2019]t|not found|denied|rejected|declined|refused|aborted|sorry)\b"
    rf"|(?:[^\W\d]+ ){{1,3}}(?:could not|couldn['\u2019]t)\b|errors\s*:{_ZERO}|<_?\w*RpcError\b",
    re.IGNORECASE,
)


def opens_with_failure(text: str) -> bool:
    """Whether a text opens with words that say that something failed."""
    head = text[:HEAD].lstrip()
    line = _bare(head.split("\n", 1)[0][:LINE])
    if _COUNT.match(line):
        return False
    patterns = (_RAISED, _FAILED, _SUBJECT_FAILED, _REFUSED)
    return any(pattern.match(line) for pattern in patterns) or _FLAG.search(head) is not None


def _bare(line: str) -> str:
    """A line without the marks and labels that it begins with."""
    for pattern in (_MARKS, _LABEL, _MARKS):
        if found := pattern.match(line):
            line = line[found.end() :]
    return line.rstrip("*_` ")
