"""Every check proves with its own examples that it can pass and that it can fail."""

from __future__ import annotations

import msgspec
import pytest

from carob.checks.base import Check
from carob.checks.catalog import OWN
from carob.model.check import CheckSpec, Example
from carob.model.verdict import Status
from catalogs import CATALOG

EXAMPLES = [
    pytest.param(cls, example, id=f"{cls.name}-{i}") for cls in OWN.values() for i, example in enumerate(cls.examples)
]


def built(cls: type[Check], example: Example) -> Check:
    spec = CheckSpec(cls.name, msgspec.Raw(msgspec.json.encode(example.args)))
    (check,) = CATALOG.checks((spec,))
    return check


@pytest.mark.parametrize(("cls", "example"), EXAMPLES)
def test_example_gives_its_status(cls: type[Check], example: Example) -> None:
    check = built(cls, example)
    assert list(check.validate()) == []
    result = check.judge(example.trace)
    assert result.status is example.status, result
    assert result.name == cls.name
    assert result.expected
    assert result.found or result.status is not Status.FAILED


@pytest.mark.parametrize("cls", OWN.values(), ids=lambda cls: cls.name)
def test_every_check_shows_how_it_can_come_out(cls: type[Check]) -> None:
    assert cls.shows <= {example.status for example in cls.examples}


@pytest.mark.parametrize("cls", OWN.values(), ids=lambda cls: cls.name)
def test_every_check_and_field_is_documented(cls: type[Check]) -> None:
    assert cls.__doc__
    assert cls.fields or cls.group == "rules", "rules are no fields of `expected`"
    assert all(field.doc.endswith(".") for field in cls.fields)


def test_names_and_fields_are_unique() -> None:
    names = [cls.name for cls in OWN.values()]
    fields = [field.name for cls in OWN.values() for field in cls.fields]
    assert len(set(names)) == len(names)
    assert len(set(fields)) == len(fields)
