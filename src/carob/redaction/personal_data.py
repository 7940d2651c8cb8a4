"""Personal data and keys in what is shown of conversations, replaced by made-up values of the same kind.

The patterns are published: docs/draft.md prints them. The same value is replaced by the same one all over a draft, so
that an argument which came from a prompt still does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from carob.model.trace import Trace
from carob.redaction.redactor import Redactor
from carob.redaction.walking import TextChanger, Value
from carob.text.clean import text as clean
from carob.text.encodings import KEY_FORMATS

MOST_KNOWN = 100_000
"""So many values are remembered, each with what is shown for it; then all are forgotten."""


class PersonalData(NamedTuple):
    """A kind of personal data: how it is found, whether a find is one, and what is written in its place."""

    kind: str
    regex: str
    example: str
    """A value of this kind, for people to read."""
    masked: Callable[[int], str]
    is_one: Callable[[str], bool] = lambda found: True


def passes_luhn(text: str) -> bool:
    """Whether the last digit fits the others, as it does in card numbers."""
    digits = [int(char) for char in text if char.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return 13 <= len(digits) <= 19 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def is_iban(text: str) -> bool:
    """Whether the check digits of an account number fit the rest of it (ISO 7064, mod 97)."""
    plain = re.sub(r"\s", "", text).upper()
    return 15 <= len(plain) <= 34 and int("".join(str(int(c, 36)) for c in plain[4:] + plain[:4])) % 97 == 1


def is_phone(text: str) -> bool:
    """Whether so many digits are a phone number: not a date, a range of years or an amount."""
    digits = sum(char.isdigit() for char in text)
    return 8 <= digits <= 15 and not re.fullmatch(r"(?:19|20)\d\d[-. /]\d\d?[-. /]\d\d?(?:[-. T]\d+)*", text)


def _luhn_masked(number: int) -> str:
    body = f"400000000000{number % 1000:03d}"
    return next(f"{body}{last}" for last in range(10) if passes_luhn(f"{body}{last}"))


def _iban_masked(number: int) -> str:
    account = f"00000000000000{number % 10000:04d}"
    remainder = int("".join(str(int(c, 36)) for c in f"{account}DE00"))
    return f"DE{98 - remainder % 97:02d}{account}"


PATTERNS: tuple[PersonalData, ...] = (
    PersonalData(
        "key",
        KEY_FORMATS,
        "sk-live-4f9d2b7a61c84e0f",
        lambda number: f"key-masked-{number}",
    ),
    PersonalData(
        "email address",
        r"[\w.+%-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}\b",
        "anna.lind@mail.example.org",
        lambda number: f"person{number}@example.com",
    ),
    PersonalData(
        "account number (IBAN)",
        r"(?i:\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b)",
        "DE89 3704 0044 0532 0130 00",
        _iban_masked,
        is_iban,
    ),
    PersonalData("card number", r"\b\d(?:[ -]?\d){12,18}\b", "4242 4242 4242 4242", _luhn_masked, passes_luhn),
    PersonalData(
        "social security number", r"\b\d{3}-\d{2}-\d{4}\b", "078-05-1120", lambda n: f"900-00-{n % 10000:04d}"
    ),
    PersonalData(
        "phone number",
        r"(?<![\w.,-])(?:\+\d{1,3}[ .-]?)?(?:\(\d{1,5}\)[ .-]?)?\d{2,5}(?:[ ./-]\d{2,8}){1,5}(?![\w-]|[.,]\d)"
        r"|(?<![\w.,-])\+\d{8,15}(?!\d)",
        "+49 170 1234567",
        lambda number: f"+1 555 01{number % 100:02d}",
        is_phone,
    ),
    PersonalData(
        "IP address",
        r"(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?!\.?\w)",
        "203.0.113.77",
        lambda number: f"192.0.2.{number % 256}",
    ),
)
_SPELLING = re.compile(r"[\s()./-]")
_ALL = re.compile("|".join(f"(?P<p{i}>{pattern.regex})" for i, pattern in enumerate(PATTERNS)))


class Masker(TextChanger):
    """Masks texts, and remembers what it put in the place of what.

    `keep`: everything is left as it is. `numbers`: whole numbers are masked too; amounts decide rules.
    """

    def __init__(self, keep: bool = False, *, numbers: bool = True) -> None:
        self._keep = keep
        self._numbers = numbers
        self._known: dict[str, str] = {}
        self.counts: Counter[str] = Counter()
        """How many values of each kind were masked."""

    def text(self, value: str) -> str:
        return value if self._keep else _ALL.sub(self._mask, value)

    def number(self, value: float) -> object:
        if not (self._numbers and isinstance(value, int)):
            return value
        text = self.text(str(value))
        return int(text) if text.isdecimal() else text

    def _mask(self, match: re.Match[str]) -> str:
        pattern = PATTERNS[int((match.lastgroup or "p0")[1:])]
        value = match[0]
        if not pattern.is_one(value):
            return value
        # However it is written: with spaces in a prompt, without in an argument.
        key = value if pattern.kind == "key" else _SPELLING.sub("", value).casefold()
        if key not in self._known:
            if len(self._known) > MOST_KNOWN:
                self._known.clear()
            self.counts[pattern.kind] += 1
            self._known[key] = pattern.masked(self.counts[pattern.kind])
        return self._known[key]


class Discretion:
    """What may be shown of conversations: without secrets, then with personal data masked, unless that is kept."""

    def __init__(self, keep: bool, redactor: Redactor) -> None:
        self._redactor = redactor
        self._masker = Masker(keep, numbers=False)

    def text(self, value: str) -> str:
        return self._masker.text(self._redactor.text(clean(value)))

    def trace(self, trace: Trace) -> Trace:
        """A channel that lost a secret is marked as cut."""
        return self._masker.redact(self._redactor.trace(trace))

    def redact(self, value: Value) -> Value:
        return self._masker.redact(self._redactor.redact(value))
