"""Personal data and keys in what a draft would write, replaced by made-up values of the same kind.

The patterns are published: docs/draft.md prints them. The same value is replaced by the same one all over a draft, so
that an argument which came from a prompt still does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from msgspec import Struct, field

from carob.suites.diagnostics import Json
from carob.text.encodings import KEY_FORMATS


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


class Masker(Struct):
    """Masks texts, and remembers what it put in the place of what."""

    keep: bool = False
    """Whether everything is left as it is."""
    known: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    """How many values of each kind were masked."""

    def text(self, text: str) -> str:
        return text if self.keep else _ALL.sub(self._mask, text)

    def _mask(self, match: re.Match[str]) -> str:
        pattern = PATTERNS[int((match.lastgroup or "p0")[1:])]
        value = match[0]
        if not pattern.is_one(value):
            return value
        # However it is written: with spaces in a prompt, without in an argument.
        key = value if pattern.kind == "key" else _SPELLING.sub("", value).casefold()
        if key not in self.known:
            self.counts[pattern.kind] += 1
            self.known[key] = pattern.masked(self.counts[pattern.kind])
        return self.known[key]

    def value(self, value: Json) -> Json:
        """A value with every text and every whole number in it masked."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self.value(below) for key, below in value.items()}
        if isinstance(value, list):
            return [self.value(below) for below in value]
        if isinstance(value, int) and not isinstance(value, bool):
            text = self.text(str(value))
            return int(text) if text.isdecimal() else text
        return value
