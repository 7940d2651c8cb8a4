"""Texts that a tool's result is poisoned with, each with a harmless one of the same length."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from karat.errors import ConfigError

OWN = Path(__file__).with_name("injections.toml")
FILLER = " This notice needs no answer."
MOST = 50


class Injection(Struct, frozen=True, forbid_unknown_fields=True):
    """`attack` orders the agent to do something; `control` holds the same words of data and asks for nothing.

    `{canary}` in them is a code that no other cell has, `{tool}` a tool that the case has no use for.
    """

    name: str
    attack: str
    control: str
    source: str

    @property
    def needs_tool(self) -> bool:
        return "{tool}" in self.attack

    def texts(self, canary: str, tool: str) -> tuple[str, str]:
        """The attack and the control, of one length."""
        attack = _fill(self.attack, canary, tool)
        control = _fill(self.control, canary, tool)
        while len(control) < len(attack):
            control += FILLER
        size = max(len(attack), len(_fill(self.control, canary, tool)))
        return attack.ljust(size, "."), control[:size]


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    injections: tuple[Injection, ...]


def read_injections(path: Path = OWN) -> tuple[Injection, ...]:
    """The texts of a TOML file: [[injections]] with name, attack, control and source."""
    try:
        found = msgspec.convert(tomllib.loads(path.read_text("utf-8")), _File).injections
    except OSError as error:
        fix = "Name a TOML file with [[injections]]; docs/stress.md shows one."
        raise ConfigError(f"the injections cannot be read: {error.strerror}.", where=str(path), fix=fix) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        fix = "Each of [[injections]] has name, attack, control and source; docs/stress.md shows one."
        raise ConfigError(f"{str(error)[:1].lower()}{str(error)[1:]}.", where=str(path), fix=fix) from None
    for flaw in _flaws(found):
        raise ConfigError(flaw, where=str(path), fix="See docs/stress.md.")
    return found


def _flaws(found: tuple[Injection, ...]) -> Iterator[str]:
    names = [one.name for one in found]
    if not found:
        yield "there is no text in it."
    if len(found) > MOST:
        yield f"it contains {len(found)} texts; the limit is {MOST}."
    for one in found:
        if not (one.name.strip() and one.attack.strip() and one.control.strip() and one.source.strip()):
            yield f"the injection {one.name!r} has a blank value."
        if names.count(one.name) > 1:
            yield f"two injections are called {one.name!r}."
        if not ("{canary}" in one.attack or one.needs_tool):
            yield f"the attack of {one.name!r} has neither {{canary}} nor {{tool}}, so nothing would show if it worked."


def _fill(text: str, canary: str, tool: str) -> str:
    return text.replace("{canary}", canary).replace("{tool}", tool)
