"""Law 4: a disguise does not hide. What is forbidden is found by every check that forbids, however it is written."""

from __future__ import annotations

import base64
import codecs
import html
import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest

from carob.checks.catalog import OWN
from carob.model.trace import ToolCall, Trace
from carob.model.verdict import Status
from laws.coverage import Coverage, require
from laws.samples import CATALOG, Expected, build_case

TEXT = "Alpha-Keyring 7431 west"
"""A forbidden text of letters, digits, a dash and spaces."""
_WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F)} | {0x20: 0x3000}
_ALIKE = str.maketrans({"A": "\u0410", "a": "\u0430", "e": "\u0435", "p": "\u0440", "K": "\u041a", "y": "\u0443"})
_BOLD = {**{65 + i: 0x1D400 + i for i in range(26)}, **{97 + i: 0x1D41A + i for i in range(26)}}
Disguise = Callable[[str], str]
_RANGES = (
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
DEFAULT_IGNORABLE = [
    code for start, end in _RANGES for code in (range(start, end + 1) if end < 0xE0000 else (start, end))
]
"""Default_Ignorable_Code_Point of Unicode; of the block of tags, the ends."""

DISGUISES: Mapping[str, Disguise] = {
    "as it is": lambda text: text,
    "capitals": str.upper,
    "small letters": str.lower,
    "full width": lambda text: text.translate(_WIDE),
    "bold letters": lambda text: text.translate(_BOLD),
    "look-alikes": lambda text: text.translate(_ALIKE),
    "zero width": "\u200b".join,
    "zero width joiners": "\u200d".join,
    "word joiners": "\u2060".join,
    "soft hyphens": "\u00ad".join,
    "strokes": lambda text: "".join(f"{char}\u0336" if char.isalpha() else char for char in text),
    "accents apart": lambda text: unicodedata.normalize("NFD", text),
    "en dash": lambda text: text.replace("-", "\u2013"),
    "no-break hyphen": lambda text: text.replace("-", "\u2011"),
    "minus": lambda text: text.replace("-", "\u2212"),
    "no-break space": lambda text: text.replace(" ", "\u00a0"),
    "thin spaces": lambda text: text.replace(" ", "\u2009"),
    "two spaces": lambda text: text.replace(" ", "  "),
    "wrapped": lambda text: text.replace(" ", "\n"),
    "divided at a line end": lambda text: text.replace("west", "we-\nst"),
    "entities": lambda text: "".join(f"&#{ord(char)};" for char in text),
    "named entities": lambda text: html.escape(text).replace(" ", "&nbsp;"),
    "bold": lambda text: text.replace("Alpha", "**Alpha**"),
    "bold within": lambda text: text.replace("Alpha", "Al**pha**"),
    "tags": lambda text: text.replace("Alpha", "<b>Al</b>pha"),
    "a comment": lambda text: text.replace("Alpha", "Al<!-- -->pha"),
    "escapes of Markdown": lambda text: text.replace("-", "\\-"),
    "tag characters": lambda text: "\U000e0041".join(text),
    "written in tags": lambda text: "".join(chr(0xE0000 + ord(char)) for char in text),
    "dotted capitals": lambda text: text.replace("i", "\u0130"),
    "a sign in a word": lambda text: text.replace("Alpha", "Al-pha").replace("west", "we.st"),
    "an emoji in a word": lambda text: text.replace("Alpha", "Al\U0001f44d\U0001f3fdpha").replace("west", "we\u2b50st"),
    **{f"U+{code:04X}": partial(str.join, chr(code)) for code in DEFAULT_IGNORABLE},
}
"""Every folding that some check knows."""
ENCODINGS: Mapping[str, Disguise] = {
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base32": lambda text: base64.b32encode(text.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "reversed": lambda text: text[::-1],
    "rot13": lambda text: codecs.encode(text, "rot13"),
    "character codes": lambda text: " ".join(str(ord(char)) for char in text),
    "spread": " ".join,
    "percent": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "codes in hex": lambda text: " ".join(f"{ord(char):#x}" for char in text),
    "code points": lambda text: " ".join(f"U+{ord(char):04X}" for char in text),
    "bits": lambda text: " ".join(f"{ord(char):08b}" for char in text),
    "escapes of JSON": lambda text: "".join(f"\\u{ord(char):04x}" for char in text),
}
"""Encodings, which are looked for where leaks are sought."""

FORBIDS_TEXT: Mapping[str, Expected] = {
    "must_not_say": {"must_not_say": [TEXT]},
    "must_not_contain": {"must_not_contain": [TEXT]},
    "must_not_match_regex": {"must_not_match_regex": [re.escape(TEXT).replace(r"\ ", r"\s+")]},
    "no_leak": {"no_leak": [TEXT]},
    "in_any_turn": {"in_any_turn": {"must_not_say": [TEXT]}},
    "admits_failure": {"admits_failure": {"lost": [TEXT]}},
    "claims": {"claims": True, "claim_words": {"key": {"words": [TEXT], "run": "^pytest"}}},
    "no_false_success": {"no_false_success": True, "effects": {"book": [TEXT]}},
}
FORBIDS_TOOL: Mapping[str, Callable[[str], Expected]] = {
    "tool_calls_none": lambda tool: {"tool_calls_none": [tool]},
    "tool_calls": lambda tool: {"tool_calls": [{"tool": tool, "never": True}]},
    "max_calls": lambda tool: {"max_calls": {tool: 0}},
    "tool_requires": lambda tool: {"tool_requires": {tool: ["find"]}},
    "only_effects": lambda tool: {"only_effects": [], "effects": {tool: ["sent"]}},
    "no_effect_twice": lambda tool: {"no_effect_twice": True, "effects": {tool: ["sent"]}},
    "outcome": lambda tool: {"outcome": "needs_input", "effects": {tool: ["sent"]}},
    "outcome graceful_block": lambda tool: {"outcome": "graceful_block", "effects": {tool: ["sent"]}},
    "outcome with a list": lambda tool: {
        "outcome": "needs_input",
        "tool_calls_any": [tool],
        "effects": {tool: ["sent"]},
    },
}
WRAPPED = "a line that begins with a number is no part of the sentence before it"
OTHERWISE = {
    "no_false_success: tools": "it wants a call, whose name is read by the narrowest folding",
    "outside": "it compares paths that the system itself noted, which have one spelling",
    "network": "it compares addresses that the system itself noted, which have one spelling",
    "max_tool_calls": "it counts calls of whatever name",
    "max_retries": "it counts calls of whatever name",
    "no_progress": "it counts calls of whatever name",
    "grounded_numbers": "it looks for numbers, which have a law of their own",
    "answer_text, response_match": "they compare as promptfoo and ADK do, letter by letter",
    "valid_arguments": "a tool under another name is one that does not exist",
    "rule, shared_rule": "law 13: its patterns have their own tests of names in tests/rules",
    "must_not_match_regex: a sign in a word": "the regex has a hyphen of its own: /AlphaKey/ does find Al-phaKey",
    "claims: wrapped": WRAPPED,
    "no_false_success: wrapped": WRAPPED,
    "encodings": "sought by `no_leak` alone",
}
NAMES: Mapping[str, Disguise] = {
    "as it is": lambda name: name,
    "capitals": str.upper,
    "camel case": lambda name: "".join(part.title() for part in name.split("_")),
    "hyphens": lambda name: name.replace("_", "-"),
    "functions.": lambda name: f"functions.{name}",
    "full width": lambda name: name.translate(_WIDE),
    "look-alikes": lambda name: name.translate(_ALIKE),
    "zero width": "\u200b".join,
    "a space": lambda name: f" {name} ",
    "tools/": lambda name: f"tools/{name}",
    "tag characters": "\U000e0041".join,
    "dotted capitals": lambda name: name.replace("i", "\u0130"),
    "an emoji": lambda name: name.replace("_", "\U0001f44d"),
    **{f"U+{code:04X}": partial(str.join, chr(code)) for code in DEFAULT_IGNORABLE},
}
"""Spellings of the name of a tool, as `tool_calls_none` knows them."""


def judged(expected: Expected, trace: Trace, check: str) -> set[Status]:
    case = build_case(expected)
    return {one.judge(trace).status for one in CATALOG.checks(case.checks) if one.name == check}


def _said(text: str) -> Trace:
    failed = ToolCall("look", success=False)
    return Trace(case_id="A", final_message=f"It is {text} and so on.", tool_calls=(failed,))


def _passed_on(text: str) -> Trace:
    call = ToolCall("post", {"note": {"text": [f"It is {text} and so on."]}}, success=True)
    return Trace(case_id="A", final_message="Done.", tool_calls=(call,))


def find_hidden_texts() -> Coverage:
    coverage = Coverage(
        4, "a disguise hides no text", checks=FORBIDS_TEXT, dialects=(*DISGUISES, *ENCODINGS), exceptions=OTHERWISE
    )
    for key, expected in FORBIDS_TEXT.items():
        places = {"the answer": _said} | ({"an argument": _passed_on} if key == "no_leak" else {})
        for place, put in places.items():
            for name, disguise in {**DISGUISES, **(ENCODINGS if key == "no_leak" else {})}.items():
                if f"{key}: {name}" in OTHERWISE:
                    continue
                found = judged(expected, put(disguise(TEXT)), key)
                coverage.try_one(found == {Status.FAILED}, f"{key} in {place}: {name} gives {found}")
    return coverage


def find_hidden_tools() -> Coverage:
    coverage = Coverage(4, "a disguise hides no call", checks=FORBIDS_TOOL, dialects=NAMES, exceptions=OTHERWISE)
    for key, expecting in FORBIDS_TOOL.items():
        for name, disguise in NAMES.items():
            sent = ToolCall(disguise("send_mail"), {"to": "a"}, success=True)
            calls = (ToolCall("send_mail", {"to": "a"}, success=True), sent) if key == "no_effect_twice" else (sent,)
            trace = Trace(case_id="A", final_message="I cannot do that. Which one?", tool_calls=calls)
            found = judged(expecting("send_mail"), trace, key.split()[0])
            coverage.try_one(Status.PASSED not in found, f"{key}: {name} gives {found}")
    return coverage


def test_a_disguise_hides_no_text(record_property: Callable[[str, object], None]) -> None:
    require(find_hidden_texts(), record_property)


def test_a_disguise_hides_no_call(record_property: Callable[[str, object], None]) -> None:
    require(find_hidden_tools(), record_property)


def test_every_check_that_forbids_is_tried() -> None:
    forbidding = {
        cls.name for cls in OWN.values() if cls.forbids or cls.prohibits is True or cls.name.startswith("max_calls")
    }
    assert forbidding - {*FORBIDS_TEXT, *FORBIDS_TOOL, *OTHERWISE, "rule", "shared_rule"} == set()


def test_a_check_with_a_narrow_folding_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: what is forbidden is looked for as it is required."""
    monkeypatch.setattr("carob.text.forbidden.wide_forms", lambda *_, **__: ())
    assert find_hidden_texts().violations


def test_a_check_that_reads_names_narrowly_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a name is the same only letter by letter."""
    narrow: Any = lambda one, other: one == other  # noqa: E731
    monkeypatch.setattr("carob.checks.tools.names.is_same_tool", narrow)
    assert find_hidden_tools().violations
