"""Between the shipped suites, every key that Karat 1 adds stands in a case and fails for a planted bug."""

from __future__ import annotations

import pytest

from catalogs import CATALOG
from karat.matchers.reading import DOLLAR_KEYS
from karat.suites.formats.catalog import find_format
from karat1_fields import NOT_JUDGED, ROWS, SUITES, Row

NEW, OLD = (
    find_format("karat-1", CATALOG.formats).schema(CATALOG),
    find_format("eval-set", CATALOG.formats).schema(CATALOG),
)
NAMES_OF_NUMBERS = ("from_tool", "at")


def fields() -> set[str]:
    """What the JSON Schema of Karat 1 has and that of eval sets lacks, and the keys of a call that is expected."""
    around = NEW["properties"].keys() - OLD["properties"].keys()
    of_cases = NEW["$defs"]["Case"]["properties"].keys() - OLD["$defs"]["Case"]["properties"].keys()
    asked = {field.name for field in CATALOG.fields if field.since == "1"} | {"asks_for"}
    calls = {f"tool_calls.{key}" for key in NEW["$defs"]["ExpectedCall"]["properties"]}
    numbers = {f"must_ground_numbers.{key}" for key in NAMES_OF_NUMBERS}
    return around | of_cases | asked | {key for key in calls | numbers if ".x-" not in key and ".metadata" not in key}


def test_every_key_has_its_bug() -> None:
    assert fields() - {row.field for row in ROWS} == NOT_JUDGED.keys()


def test_every_row_is_of_a_key() -> None:
    assert {row.field for row in ROWS} - fields() == {"ui"}, "the page is older than Karat 1"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.agent}-{row.field}")
def test_the_key_stands_in_the_suite(row: Row) -> None:
    assert f"{row.field.rpartition('.')[2]}:" in SUITES[row.agent].read_text()


def test_every_matcher_stands_in_one_of_them() -> None:
    text = "".join(suite.read_text() for suite in SUITES.values())
    assert [key for key in DOLLAR_KEYS if f"{key}:" not in text] == []
