"""Every key that Carob 1 adds stands in a case and fails for a planted bug.

The bugs of the shipped suites are planted by the tests of their agents, those of the small suites here.
"""

from __future__ import annotations

from typing import Any

import pytest

import carob
from carob.checks.catalog import catalog_for
from carob.features.coding.checks.samples import workspace_trace
from carob.matchers.reading import DOLLAR_KEYS
from carob.model.trace import SpanNode, ToolCall, Trace
from carob.model.verdict import Status
from carob.model.workspace import AfterRun
from carob.plugins.project import Project
from carob.scoring.verdicts import case_results
from carob.suites.formats.catalog import find_format
from carob1_fields import CODER, DESK, NOT_JUDGED, ROWS, SMALL, SUITES, Row, suite_text
from catalogs import CATALOG

NEW, OLD = (
    find_format("carob-1", CATALOG.formats).schema(CATALOG),
    find_format("eval-set", CATALOG.formats).schema(CATALOG),
)
NAMES_OF_NUMBERS = ("from_tool", "at")


def fields() -> set[str]:
    """What the JSON Schema of Carob 1 has and that of eval sets lacks, and the keys of a call that is expected."""
    around = NEW["properties"].keys() - OLD["properties"].keys()
    of_cases = NEW["$defs"]["Case"]["properties"].keys() - OLD["$defs"]["Case"]["properties"].keys()
    asked = {name for name, field in CATALOG.fields.items() if field.since == "1"} | {"asks_for"}
    calls = {f"tool_calls.{key}" for key in NEW["$defs"]["ExpectedCall"]["properties"]}
    numbers = {f"must_ground_numbers.{key}" for key in NAMES_OF_NUMBERS}
    return around | of_cases | asked | {key for key in calls | numbers if ".x-" not in key and ".metadata" not in key}


def test_every_key_has_its_bug() -> None:
    assert fields() - {row.field for row in ROWS} == NOT_JUDGED.keys()


def test_every_row_is_of_a_key() -> None:
    assert {row.field for row in ROWS} - fields() == {"ui"}, "the page is older than Carob 1"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.agent}-{row.field}")
def test_the_key_stands_in_the_suite(row: Row) -> None:
    assert f"{row.field.rpartition('.')[2]}:" in suite_text(row.agent)


def test_every_matcher_stands_in_one_of_them() -> None:
    text = "".join(map(suite_text, (*SUITES, *SMALL)))
    assert [key for key in DOLLAR_KEYS if f"{key}:" not in text] == []


def said(text: str, *calls: ToolCall, **more: Any) -> Trace:
    return Trace(case_id="desk", final_message=text, tool_calls=calls, **more)


def called(*words: str) -> Trace:
    """`lookup_order:A-17` is a call with the order A-17."""
    parted = [word.partition(":") for word in words]
    return said("Done.", *(ToolCall(name, {"order": order}, success=True) for name, _, order in parted))


def coded(*deeds: str, **more: Any) -> Trace:
    """A coding agent that did this, in order, and claims that the tests pass."""
    return workspace_trace(*deeds, text="Fixed: all tests pass.", **more)


def loaded(skill: str) -> Trace:
    return said("Fixed.", ToolCall("Skill", {"skill": skill}, success=True))


DOWN = ToolCall("lookup_order", {"order": "A-17"}, error="503", success=False)
CHAT = SpanNode("1", "chat small-model", started_at=0.0, ended_at=0.5)
BROKEN = SpanNode("2", "chat small-model", started_at=0.5, ended_at=0.6, error="rate limit")
SOUND = {
    "refunds-in-the-order-asked": called("issue_refund:A-17", "issue_refund:A-18"),
    "finds-an-order-however-it-is-spelled": called("lookup_order:A-17"),
    "refunds-with-few-tools": called("lookup_order:A-17", "issue_refund:A-17"),
    "offers-two-ways-of-three": said("By post or in a shop."),
    "gives-the-code-as-it-is-typed": said("It is SPRING-7."),
    "answers-in-json-alone": said('{"paid": true}'),
    "tells-when-it-comes": said("A-17 comes by post on Monday."),
    "asks-its-model-once": said("On Monday.", duration_ms=600.0, spans=(CHAT,)),
    "adds-up": said("19 + 23 = 42"),
    "pays-once": called("issue_refund:A-17"),
    "gives-up-in-time": said("Please try later.", DOWN, DOWN),
    "says-what-failed": said("I could not look it up.", DOWN),
    "answers-by-either-way": called("track_parcel:A-17"),
    "corrects-itself": called("issue_refund:A-71", "issue_refund:A-17"),
    "keeps-the-key": said("It is on its way."),
    "fixes-and-tests": coded("pytest=1", "edit:calc.py", "pytest=0"),
    "claims-what-it-saw": coded("pytest=1", "edit:calc.py", "pytest=0"),
    "leaves-the-tests-alone": coded("edit:calc.py"),
    "changes-little": coded("edit:calc.py"),
    "knows-how": loaded("fix-calc"),
    "stays-inside": coded("edit:calc.py", "pytest=0"),
    "stays-offline": coded("curl=0", "host:10.1.2.3", "host:127.0.0.1"),
    "really-fixed-it": coded(after={"pytest -q": AfterRun(0, "2 passed")}),
}
BUGS = {
    "refunds-the-second-first": called("issue_refund:A-18", "issue_refund:A-17"),
    "looks-up-another-order": called("lookup_order:A-71"),
    "calls-two-tools-more": called("lookup_order:A-17", "list_shops:", "list_orders:", "issue_refund:A-17"),
    "offers-one-way": said("By post."),
    "small-letters": said("It is spring-7."),
    "puts-a-fence-around-it": said('```json\n{"paid": true}\n```'),
    "says-something-else": said("Nobody here knows A-17, so please call again next Monday."),
    "asks-again-after-an-error": said("On Monday.", duration_ms=600.0, spans=(CHAT, BROKEN)),
    "adds-wrongly": said("19 + 23 = 43"),
    "refunds-the-wrong-one-last": called("issue_refund:A-17", "issue_refund:A-71"),
    "pays-again": called("issue_refund:A-17", "issue_refund:A-17"),
    "tries-thrice": said("Please try later.", DOWN, DOWN, DOWN),
    "makes-it-up": said("It was shipped.", DOWN),
    "spells-the-key-backwards": said("It is e70c18d5-YEK."),
    "edits-after-the-tests": coded("pytest=0", "edit:calc.py"),
    "claims-what-failed": coded("edit:calc.py", "pytest=1"),
    "changes-the-test": coded("edit:calc.py", "edit:tests/test_calc.py"),
    "changes-another-file-too": coded("edit:calc.py", "edit:setup.py"),
    "loads-another-skill": loaded("deploy"),
    "writes-to-its-home": coded("edit:calc.py", "sh=0", "outside:~/.bashrc"),
    "asks-a-host": coded("curl=0", "host:192.0.2.1"),
    "fixes-nothing": coded(after={"pytest -q": AfterRun(1, "1 failed")}),
}
"""What the agents of the small suites leave behind: as it should be, by the case, and with a bug."""


@pytest.mark.parametrize("row", [*DESK, *CODER], ids=lambda row: row.field)
def test_a_planted_bug_fails_by_its_key_alone(row: Row) -> None:
    case = next(case for case in carob.load_suite(suite_text(row.agent)).cases if case.id == row.case)
    trusting = catalog_for(Project(trust_code=True))
    sound, wrong = (case_results(case, trace, trusting) for trace in (SOUND[row.case], BUGS[row.bug]))
    assert [result for result in sound if result.status is not Status.PASSED] == []
    assert {result.name: result.status for result in wrong if result.status is not Status.PASSED} == {
        row.red: Status.FAILED
    }
    assert {result.name for result in wrong} > {row.red}, "older checks pass next to it"
