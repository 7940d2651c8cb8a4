"""Changes that leave an answer right: a check that minds them is brittle."""

from __future__ import annotations

import unicodedata

import regex
from msgspec import structs

from karat.audits.operators.base import Equivalent, Subject
from karat.audits.operators.tool_calls import parallel
from karat.checks.numbers import MustGroundNumber
from karat.model.trace import Trace

TYPOGRAPHY = str.maketrans({"'": "’", "-": "‑"})
# A digit beside the word makes its letters matter: `12M` is not `12m`.
WORD = regex.compile(r"(?<![\w\d])(?<!\d\s)[A-Za-z]{3,}(?!\w)")
BLANK = regex.compile(r"(?<=\S) (?=\S)")
CASE_MATTERS = regex.compile(rb"\(\?\w*-\w*i")
GROUPED = regex.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w,])")
PLAIN_DIGITS = 4


def white_space(subject: Subject) -> Trace | None:
    """Two blanks between words and at the end of each line, as Markdown breaks lines, and more empty lines."""
    lines = [BLANK.sub("  ", line) + "  " for line in subject.answer.split("\n")]
    return subject.with_answer("\r\n".join(line if line.strip() else "\r\n" for line in lines) + "\n\n")


def letter_case(subject: Subject) -> Trace | None:
    """Upper case, unless a regex of the case says that letter case matters to it."""
    if any(CASE_MATTERS.search(bytes(spec.args)) for spec in subject.case.checks):
        return None
    return subject.with_answer(WORD.sub(lambda m: m[0].upper(), subject.answer))


def unicode_forms(subject: Subject) -> Trace | None:
    return subject.with_answer(unicodedata.normalize("NFD", subject.answer))


def typography(subject: Subject) -> Trace | None:
    return subject.with_answer(subject.answer.translate(TYPOGRAPHY))


def ungrouped(subject: Subject) -> Trace | None:
    return subject.with_answer(GROUPED.sub(lambda m: m[0].replace(",", ""), subject.answer))


def grouped(subject: Subject) -> Trace | None:
    """Only for numbers that the case itself takes for numbers: an id or a year is never written with commas."""
    values = [str(args.get("value", "")) for args in subject.arguments(MustGroundNumber)]
    plain = [value for value in values if value.isascii() and value.isdigit() and len(value) >= PLAIN_DIGITS]
    if not plain:
        return None
    number = regex.compile(rf"(?<![\w.,:/-])(?:{'|'.join(plain)})(?![\w:/-]|[.,]\d)")
    return subject.with_answer(number.sub(lambda m: f"{int(m[0]):,}", subject.answer))


def parallel_order(subject: Subject) -> Trace | None:
    """Calls that ran side by side, told in the other order."""
    calls = list(subject.trace.tool_calls)
    for i in range(len(calls) - 1):
        if parallel(calls[i], calls[i + 1]):
            calls[i], calls[i + 1] = calls[i + 1], calls[i]
    return structs.replace(subject.trace, tool_calls=tuple(calls))


def extra_keys(subject: Subject) -> Trace | None:
    return structs.replace(subject.trace, telemetry=tuple(map(_with_more, subject.trace.telemetry)))


def _with_more(line: str) -> str:
    """An object with a key more at each end, every other byte as it was."""
    bare = line.strip()
    if not (bare.startswith("{") and bare.endswith("}")) or bare[1:-1].strip() == "":
        return line
    return f'{{"x_span":"00f067aa",{bare[1:-1]},"x_host":"worker-7"}}'


WORDS = {"": "look for single words, or for fewer of them"}
SPACES = {
    "": r"write \s+ for a blank, and \s*$ for the end of a line",
    "must_ground_numbers": r"use a value, or write \s+ for a blank",
}
NUMBERS = {"": "ask for the number with must_ground_numbers: it knows 1,200 for 1200"}
ORDER = {"": "calls that run side by side have no order: leave tools_match: ordered out"}
KEYS = {"": "look for a part of the line that needs neither its start nor its end"}

EQUIVALENTS = (
    Equivalent("white-space", "other white space and line ends", white_space, SPACES),
    Equivalent("letter-case", "upper case", letter_case, WORDS),
    Equivalent("unicode-forms", "decomposed characters", unicode_forms, WORDS),
    Equivalent("typography", "typographic quotes and hyphens", typography, WORDS),
    Equivalent("thousands-grouped", "1,200 for 1200", grouped, NUMBERS),
    Equivalent("thousands-plain", "1200 for 1,200", ungrouped, NUMBERS),
    Equivalent("parallel-order", "parallel calls in the other order", parallel_order, ORDER),
    Equivalent("telemetry-keys", "extra keys in telemetry", extra_keys, KEYS),
)
