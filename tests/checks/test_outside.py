"""Checks that other packages bring are the same as ours, and one that is broken is told in a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Any, ClassVar

import pytest

from karat.checks import catalog
from karat.checks.base import Check, Reading
from karat.checks.catalog import Catalog
from karat.errors import ConfigError
from karat.model.check import Field
from karat.model.trace import Trace
from karat.model.verdict import CheckResult, Group


@dataclass(frozen=True, slots=True)
class Shouts(Check):
    """The answer is in capitals."""

    name: ClassVar = "shouts"
    group: ClassVar = Group.FORMATTING
    fields: ClassVar = (Field("shouts", bool, "The answer is in capitals."),)
    examples: ClassVar = ()

    @classmethod
    def read(cls, expected: Mapping[str, Any]) -> Iterator[Reading]:
        if "shouts" in expected:
            yield Reading({}, ("shouts",))

    @property
    def wanted(self) -> str:
        return "capitals"

    def judge(self, trace: Trace) -> CheckResult:
        return self.passed() if trace.final_message.isupper() else self.failed(trace.final_message)


class Namesake(Shouts):
    name: ClassVar = "outcome"


def installed(monkeypatch: pytest.MonkeyPatch, value: str) -> Catalog:
    points = [EntryPoint("mine", value, catalog.ENTRY_POINTS)]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points)
    return Catalog()


def test_an_outside_check_joins_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    found = installed(monkeypatch, f"{__name__}:Shouts")
    assert found.classes["shouts"] is Shouts
    assert "shouts" in {field.name for field in found.fields}
    assert len(found.classes) == len(catalog.CHECKS) + 1


@pytest.mark.parametrize(
    ("value", "said"),
    [
        pytest.param("no_such_module:X", "cannot be loaded: ModuleNotFoundError", id="no-module"),
        pytest.param("karat.checks.catalog:NOTHING", "cannot be loaded: AttributeError", id="no-attribute"),
        pytest.param("karat.checks.catalog:CHECKS", "is no subclass of karat.checks.base.Check", id="no-class"),
        pytest.param("karat.errors:UsageError", "is no subclass of karat.checks.base.Check", id="no-check"),
        pytest.param(f"{__name__}:Namesake", "is called 'outcome', as a check of Karat is", id="namesake"),
    ],
)
def test_one_that_is_broken_is_told_in_a_line(monkeypatch: pytest.MonkeyPatch, value: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        _ = installed(monkeypatch, value).classes
    assert "entry point 'mine' of karat.checks" in str(caught.value)
