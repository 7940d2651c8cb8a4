"""`*` in every field that names tools: one that must fail, one that must pass, one that fits no tool of the target."""

from __future__ import annotations

from typing import Any

import pytest

from carob.features.lint.base import TargetInfo
from carob.features.lint.linter import lint
from carob.model.trace import ToolCall, Trace
from carob.model.verdict import Status
from carob.scoring import verdicts
from carob.suites.reading import locate_suite
from catalogs import CATALOG

TOOLS = frozenset({"find_room", "delete_all", "book_room"})


def calls(*names: str) -> Trace:
    given = tuple(ToolCall(name, {}, result={"rides": 12}, success=True) for name in names)
    return Trace(case_id="a", final_message="It is 12.", tool_calls=given)


ROWS: list[tuple[str, Any, Any, Any]] = [
    ("tool_calls_any", ["book_*"], ["find_*"], ["fly_*"]),
    ("tool_calls_none", ["find_*"], ["book_*"], ["fly_*"]),
    ("tool_calls_none", ["*"], ["book_*"], ["fly_*"]),
    ("tool_calls", [{"tool": "book_*"}], [{"tool": "find_*", "success": True}], [{"tool": "fly_*"}]),
    (
        "tool_calls",
        [{"tool": "f*", "never": True}],
        [{"tool": "b*", "never": True}],
        [{"tool": "fly_*", "never": True}],
    ),
    ("tool_order", ["delete_*", "find_*"], ["find_*", "*_all"], ["fly_*", "find_*"]),
    ("tool_requires", {"delete_*": ["book_*"]}, {"delete_*": ["find_*"]}, {"fly_*": ["find_*"]}),
    ("max_calls", {"*": 1}, {"find_*": 1}, {"fly_*": 1}),
    ("max_calls", {"*": 0}, {"*": 2}, {"fly_*": 0}),
    (
        "must_ground_numbers",
        [{"label": "rides", "from_tool": "find_*", "at": "$.seats"}],
        [{"label": "rides", "from_tool": "find_*", "at": "$.rides"}],
        [{"label": "rides", "from_tool": "fly_*", "at": "$.rides"}],
    ),
]


def suite(expected: dict[str, Any]) -> Any:
    import json

    cases = [{"id": "a", "prompt": "go", "expected": expected}]
    return locate_suite(json.dumps({"carob": 1, "cases": cases}).encode(), "s.json", CATALOG)


def statuses(field: str, given: Any) -> set[Status]:
    (case,) = suite({field: given}).suite.cases
    results = verdicts.case_results(case, calls("find_room", "delete_all"), CATALOG)
    return {result.status for result in results if result.name.startswith(field)}


@pytest.mark.parametrize(("field", "red", "green", "idle"), ROWS)
def test_a_wildcard(field: str, red: Any, green: Any, idle: Any) -> None:
    assert Status.FAILED in statuses(field, red)
    assert statuses(field, green) == {Status.PASSED}
    around = TargetInfo(target="desk", tools=TOOLS)
    found = {
        name: [str(one) for one in lint(suite({field: given}), CATALOG, around)]
        for name, given in (("green", green), ("idle", idle))
    }
    assert not any("unknown-tool" in one for one in found["green"])
    assert any("unknown-tool" in one for one in found["idle"])


def test_the_outcome_of_listed_tools() -> None:
    (case,) = suite({"outcome": "tool_success", "tool_calls_any": ["delete_*"]}).suite.cases
    assert {one.status for one in verdicts.case_results(case, calls("delete_all"), CATALOG)} == {Status.PASSED}
    assert Status.FAILED in {one.status for one in verdicts.case_results(case, calls("find_room"), CATALOG)}


@pytest.mark.parametrize("name", ["\u200b", "find\u200b_room", "find_\u00adroom"])
@pytest.mark.parametrize("field", ["tool_calls_any", "tool_calls_none", "tools_used", "tool_order"])
def test_an_invisible_character_is_an_error(field: str, name: str) -> None:
    from carob.errors import CarobError

    with pytest.raises(CarobError, match="invisible character"):
        suite({field: [name, "book_room"]})


def test_tools_used_takes_no_wildcard() -> None:
    from carob.errors import CarobError

    with pytest.raises(CarobError, match="names several"):
        suite({"tools_used": ["find_*"]})
