"""One rule for the success of a tool call, whatever target it was seen by.

A sign of failure (a list of `carob.text.words`, or text that opens with a word of failure) is a failure, whatever else
claims success; a call that returned without one succeeded; a call whose end was not observed is unknown. Records that
a tool looked up are data: what a list of them says is not said of the call. A short text fails if it says so at once:
"Error: nothing was booked", but not "0 errors found".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from carob.text.regexes import lazy
from carob.text.words import PUBLISHED

ENVELOPES = PUBLISHED.entries("envelopes")
ERROR_KEYS = PUBLISHED.entries("error_keys")
EXIT_CODES = PUBLISHED.entries("exit_codes")
FAILED_STATUS = PUBLISHED.entries("failed_status")
FAILURE_COUNTS = PUBLISHED.entries("failure_counts")
FAILURE_MARKS = PUBLISHED.entries("failure_marks")
GRPC_STATUS = PUBLISHED.entries("grpc_status")
NO_ERROR = PUBLISHED.entries("no_error")
NOTICE_KEYS = PUBLISHED.entries("notice_keys")
STATUS_CODES = PUBLISHED.entries("status_codes")
STATUS_KEYS = PUBLISHED.entries("status_keys")
VERDICT_KEYS = PUBLISHED.entries("verdict_keys")

MISSING = ("missingFields", "missing_fields")
_MISSING = frozenset(MISSING)
MOST_KEYS = 64
"""Of tables with so many keys it is remembered what their keys can say: those of one tool have the same."""
Test: TypeAlias = Callable[[object], bool]
DEEPEST = 8
"""How many envelopes may be around a result."""

_NO = frozenset({"false", "no", "n", "0", "off"})
_NO_ERROR = frozenset(NO_ERROR)
_FAILED = frozenset(FAILED_STATUS)
_NOTICE = frozenset(NOTICE_KEYS)
_CODE_AND_WORDS = frozenset({"code", "message", "details", "data"})
_OBJECT = lazy.pattern(r"\s*<[^<>]* at 0x[\w…]+>\s*")
_STRUCTURE = lazy.pattern(
    r"\s*(?:\{|\[\s*(?:[\[{\"'\]]|true,|false,)|\((?:True|False),|<[^\W\d][\w.]*\.\w+: "
    r"|[^\W\d][\w.]*\([^()]*\w=|[^\W\d]\w*=(?!=))"
)
_QUOTED = lazy.pattern(r'\s*"(?:[^"\\]|\\.)*"\s*', re.DOTALL)
_CALL = lazy.pattern(r"\s*[^\W\d][\w.]*\(.*\)\s*", re.DOTALL)
_FENCE = lazy.pattern(r"\s*(?:[^\n`{\[]{0,80}\n)?\s*```\w*\n(.*?)\n?\s*```", re.DOTALL)
_LABELLED = lazy.pattern(r"[^\n{}\[\]]{1,80}?[:=>]\s*(\{.*\})\s*", re.DOTALL)
HEAD = 2_000
LINE = 300
"""So much of a text and of its first line is looked at: what failed says so at once, and the rest is data."""

_LABEL = lazy.pattern(
    r"(?i)(?:tool |function )?(?:result|output|observation|response|answer|message|content)\s*[:=]\s*|tool\s*[:=]\s*"
)
_MARKS = lazy.pattern(r"(?:(?!<\w)[\W_])+")
_COUNT = lazy.pattern(r"(?i)(?:no|0|zero|none|without|not an?)\b[\s:]*(?:\w+\s+)?(?:error|exception|failure|problem)")
_RAISED = lazy.pattern(r"[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Timeout|Warning)\s*[:(]")
_NONE = r"(?:none|no|null|nil|false|n/a)\W*$"
_ZERO = rf"(?!\s*(?:0\W*$|{_NONE}))"
_ZERO_COUNTED = rf"(?!\s*(?:0\b(?!.*\b(?:as|because|due|since)\b)|{_NONE}))"
"""`Errors: 0 in 3 files` counts them, and `Error: 0 rows exported` is one."""
_UNCLEAR = lazy.pattern(
    rf"(?i)(?:error|exception|failure)\s*[:=]\s*(?:{_NONE}|0\W*$)"
    rf"|(?:failed|fail)\s*[:=]\s*(?:{_NONE}|0\s*(?:/|(?:out )?of\b)\s*\d)"
)
"""A word of failure with a zero: none failed, or none of them was done."""
_NAMED = (
    r"(?:error|exception|failure)(?:\s*[\[(][^\])\n]{0,60}[\])]|\s+(?:code\s+)?[A-Z]{0,8}-?\d{1,5})?"
    rf"(?:\s*[:=!\]]{_ZERO}|\s+[-\u2013\u2014]\s|\s*\.?\s*$|\s+(?:occurred|happened|while|when|during)\b"
    r"|\s+(?!handling|reporting|logging|tracking|monitoring|correcting|messaging)\w+ing\s\S)"
    rf"|(?:err|errno|fail|failed|fatal|failure)\s*[:=!]{_ZERO_COUNTED}"
    r"|failed\s*(?:[.,;\u2013\u2014-]|$)"
    r"|(?:http[ /]?(?:\d\.\d )?|status(?: code)?\s*[:=]?\s*)[45]\d\d\b"
    r"|[45]\d\d (?:client|server|bad|not|internal|forbidden|unauthorized|too many)\b"
    r"|<(?:\w+_)?error\b"
)
_ENDS = r"(?=\s*(?:[.:!,;(\u2013\u2014-]|$|because\b|due\b|with\b|for\b|after\b|while\b))"
"""What was said is all, or a reason follows: "Payment declined", but not "Payment declined invitations"."""
_PROGRAM_FAILED = lazy.pattern(
    r"(?i)(?!https?:)[a-z][\w./+-]{0,40}: (?:line \d{1,6}: |\d{1,6}: )?(?:[\w./-]{1,80}: )?"
    r"(?:error\b|fatal\b|panic\b|command not found|not found|no such |permission denied|operation not permitted|cannot "
    r"|can't |could not |connection refused|connect to host|\(\d{1,3}\) |\*\*\* )"
)
"""What shells and programs of Unix write: `bash: foo: command not found`, `curl: (7) Failed to connect`."""
_CODED = lazy.pattern(
    r"(?i)\d{1,4} validation errors? for |npm err!|e: |panic: |ora-\d{3,6}: |error \d{3,5} \(|rpc error\b"
    r"|exit status [1-9]|segmentation fault|thread '[^'\n]{0,80}' panicked|exception in thread|unhandled exception"
    r"|uncaught \w{0,40}error|killed\s*$|timeout\s*$|[a-z_][\w.]{0,120}(?:Error|Exception)\s*$"
    r"|[45]\d\d (?:service|gateway|conflict|payment|request)"
)
_NOTHING_THERE = lazy.pattern(
    r"(?i)(?:[^\W\d][\w'#-]{0,60} ){1,4}(?:not found|does not exist|do not exist)\s*[.!]?\s*$"
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
_VERDICT = rf"(?:declined|denied|refused|rejected|unsuccessful){_ENDS}"
_OPENING = (
    rf"(?i)(?:«failure_kinds»\s+)*(?:{_NAMED})|«errors_in_other_languages»\s*[:\uff1a]|«failure_openings»"
    rf"|«refusal_openings»|«verdict_openings»{_ENDS}|«exhausted_openings»{_ENDS}"
    rf"|(?!(?:no|none|nothing|zero|not)\b)(?:«declined_subjects»|(?:[^\W\d]+ ){{0,1}}[^\W\d]+)"
    rf" (?:has |have |had |was |is |been )*{_VERDICT}(?!\s*:\s*\d)"
    rf"|(?:[^\W\d]+ ){{1,3}}(?:could not|couldn't)\b|errors\s*:{_ZERO_COUNTED}|<_?\w*RpcError\b"
)


class KeySigns(NamedTuple):
    """What may say that a call failed, by the keys of its result: each key with the test of its value."""

    names: Mapping[str, object]
    """The keys by what they are called without case and marks."""
    plain: tuple[tuple[object, Test], ...]
    status: tuple[tuple[object, Test], ...]
    envelopes: tuple[object, ...]


def call_success(
    result: object, *, raised: bool = False, claimed: bool | None = None, ended: bool = True
) -> bool | None:
    """Whether a call succeeded; None if its end was not observed.

    `raised`: it broke, also where something else answered in its place. `claimed`: what is said of it besides; a claim
    of success does not outweigh a sign of failure.
    """
    if raised or claimed is False:
        return False
    if not ended and claimed is None:
        return None
    if shows_failure(result):
        return False
    return None if claimed is None and _is_unclear(result) else True


def _is_unclear(result: object, depth: int = 0) -> bool:
    """Whether a text, or one in an envelope, may say that something failed, and may say that nothing did."""
    if isinstance(result, Mapping) and depth <= DEEPEST:
        return any(_is_unclear(result[key], depth + 1) for key in _read_keys(result).envelopes)
    text = "".join(block["text"] for block in result) if isinstance(result, list) and _is_text(result) else result
    return isinstance(text, str) and _UNCLEAR.match(_opening_line(text)) is not None


def shows_failure(result: object) -> bool:
    """Whether a result has a sign of failure, at its top or in its envelope."""
    return _fails(result, 0)


def parse_result(result: object) -> object:
    """The result as data where it is data that was turned into text; anything else as it is."""
    if isinstance(result, list) and _is_text(result):
        data = parse_result("".join(block["text"] for block in result))
        return result if isinstance(data, str) else data
    if not isinstance(result, str):
        return result
    try:
        data = _data(result)
    except ValueError:
        return result
    return data if isinstance(data, dict | list) else result


def is_plain_text(result: object) -> bool:
    """Whether a result is words and not data: where only messages were seen, it may be what an exception said."""
    if not isinstance(result, str):
        return False
    try:
        msgspec.json.decode(result)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return True
    return False


def missing_fields(result: object) -> tuple[str, ...]:
    """The fields that a result names as missing."""
    if not isinstance(result, dict) or _MISSING.isdisjoint(result):
        return ()
    names = next((result[key] for key in MISSING if isinstance(result.get(key), list)), ())
    return tuple(name for name in names if isinstance(name, str))


def _fails(result: object, depth: int) -> bool:
    if depth > DEEPEST:
        return False
    if isinstance(result, str):
        return _text_fails(result, depth)
    if result.__class__ is dict or isinstance(result, Mapping):
        signs = _read_keys(result)
        return (
            _has_sign(result, signs.plain)
            or _has_sign(result, signs.status)
            or (bool(signs.envelopes) and any(_fails(result[key], depth + 1) for key in signs.envelopes))
        )
    return isinstance(result, list | tuple) and _list_fails(result, depth)


def _has_sign(table: Mapping[Any, object], tests: tuple[tuple[object, Test], ...]) -> bool:
    return bool(tests) and any(test(table[key]) for key, test in tests)


def _list_fails(items: list[Any] | tuple[Any, ...], depth: int) -> bool:
    """Blocks of text are a text; `(False, why)` is a verdict; nothing but failures is one; any other list is data."""
    if _is_text(items):
        return _text_fails("".join(block["text"] for block in items), depth)
    if len(items) > 1 and isinstance(items[0], bool) and not isinstance(items[1], bool):
        return not items[0]
    return bool(items) and all(_is_failed_entry(item, depth) for item in items)


def _is_failed_entry(item: object, depth: int) -> bool:
    if isinstance(item, str):
        return _text_fails(item, depth + 1)
    if not isinstance(item, Mapping):
        return False
    signs = _read_keys(item)
    names = signs.names
    if "text" in names and "type" in names and item[names["type"]] == "text":
        text = item[names["text"]]
        if isinstance(text, str):
            return _text_fails(text, depth + 1)
    return _has_sign(item, signs.plain) or (names.keys() <= _NOTICE and _has_sign(item, signs.status))


def _read_keys(table: Mapping[Any, object]) -> KeySigns:
    keys = tuple(table)
    return _find_signs(keys) if len(keys) <= MOST_KEYS else _find_signs.__wrapped__(keys)


@lru_cache(maxsize=1024)
def _find_signs(keys: tuple[object, ...]) -> KeySigns:
    names = {fold_key(str(key)): key for key in keys}
    is_reply = "code" in names and "message" in names and names.keys() <= _CODE_AND_WORDS
    return KeySigns(
        names,
        tuple((names[name], test) for listed, test in _PLAIN_SIGNS for name in listed if name in names),
        (
            *((names[name], test) for listed, test in _STATUS_SIGNS for name in listed if name in names),
            *([(names["code"], _is_bad_reply)] if is_reply else []),
        ),
        tuple(names[name] for name in ENVELOPES if name in names),
    )


@lru_cache(maxsize=4096)
def fold_key(key: str) -> str:
    """A key without its case and the marks between its words."""
    return key.lower().replace("_", "").replace("-", "")


def _denies(value: object) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in _NO
    return value is not None and not isinstance(value, list | dict) and value == 0


def _is_set(value: object) -> bool:
    """An error that is none ("", null, false, 0, an empty object) is not one."""
    if isinstance(value, str):
        return value.strip().rstrip(".").lower() not in _NO_ERROR
    return bool(value)


def _is_mark(value: object) -> bool:
    return value is True


def _is_bad_exit(value: object) -> bool:
    return _number(value) not in (None, 0)


def _counts(value: object) -> bool:
    number = _number(value)
    return number > 0 if number is not None else isinstance(value, list | dict) and bool(value)


def _number(value: object) -> int | None:
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,9}", value.strip()):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _is_failed_state(value: object) -> bool:
    if not isinstance(value, str):
        return value is False or _is_bad_code(value)
    return _is_failed_word(value) if len(value) <= LINE else _is_failed_word.__wrapped__(value)


@lru_cache(maxsize=1024)
def _is_failed_word(value: str) -> bool:
    name = value.strip().rstrip(".").rpartition(".")[2]
    word = " ".join(re.split(r"[\W_]+", name.lower())).strip()
    return word in _FAILED or name in GRPC_STATUS or _is_bad_code(value)


def _is_bad_code(value: object) -> bool:
    """A status of HTTP: 404, "404", "404 Not Found"."""
    if isinstance(value, str):
        return re.match(r"(?:HTTP\S* )?[45]\d\d(?!\d)", value.strip()) is not None
    return type(value) is int and 400 <= value <= 599


def _is_bad_status(value: object) -> bool:
    return value is False or _is_bad_code(value)


def _is_bad_reply(code: object) -> bool:
    """A status of gRPC, or an error of JSON-RPC: {"code": 5, "message": "not found", "details": []}"""
    return type(code) is int and (code < 0 or 0 < code <= 16 or _is_bad_code(code))


_PLAIN_SIGNS: Final = (
    (VERDICT_KEYS, _denies),
    (ERROR_KEYS, _is_set),
    (FAILURE_MARKS, _is_mark),
    (FAILURE_COUNTS, _counts),
    (EXIT_CODES, _is_bad_exit),
)
"""Signs that say it of the call and of nothing else, so that they count in a list of results too."""
_STATUS_SIGNS: Final = ((STATUS_CODES, _is_bad_status), (STATUS_KEYS, _is_failed_state))


def _text_fails(text: str, depth: int) -> bool:
    try:
        data = _data(text)
    except ValueError:
        return opens_with_failure(text)
    if data is text or not isinstance(data, dict | list | str):
        return opens_with_failure(text)
    return _fails(data, depth + 1) or (isinstance(data, str) and opens_with_failure(text))


def _data(text: str) -> object:
    """What a text holds that was made of data; the text itself if it is prose. Raises ValueError if it is torn."""
    if text.startswith("{"):
        return _parse(text)
    if _OBJECT.fullmatch(text):
        raise ValueError("it does not show its contents")
    if fenced := _FENCE.match(text):
        return _parse(fenced[1])
    if labelled := _LABELLED.fullmatch(text):
        try:
            return _parse(labelled[1])
        except ValueError:
            return text
    if _STRUCTURE.match(text) or _QUOTED.fullmatch(text):
        return _parse(text)
    if _CALL.fullmatch(text):
        try:
            return _read_repr(text)
        except ValueError:
            return text
    return text


def _read_repr(text: str) -> object:
    from carob.text.python_values import read_repr  # most results are JSON or prose

    return read_repr(text)


def _parse(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        return _read_repr(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _is_text(blocks: list[object] | tuple[object, ...]) -> bool:
    return bool(blocks) and all(
        isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
        for block in blocks
    )


def opens_with_failure(text: str) -> bool:
    """Whether a text opens with words that say that something failed."""
    line = _opening_line(text)
    if _COUNT.match(line):
        return False
    openings = (_RAISED, PUBLISHED.regex(_OPENING), _SUBJECT_FAILED, _PROGRAM_FAILED, _CODED, _NOTHING_THERE)
    return any(opening.match(line) for opening in openings) or _FLAG.search(text[:HEAD]) is not None


def _opening_line(text: str) -> str:
    return _strip_marks(text[:HEAD].lstrip().split("\n", 1)[0][:LINE]).replace("\u2019", "'")


def _strip_marks(line: str) -> str:
    """A line without the marks and labels that it begins with."""
    for pattern in (_MARKS, _LABEL, _MARKS):
        if prefix := pattern.match(line):
            line = line[prefix.end() :]
    return line.rstrip("*_` ")
