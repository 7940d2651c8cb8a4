"""How the tools of frameworks hand over what they found: a fault opens it, changes it and closes it again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from carob.proxy.faults.world import FaultError
from carob.targets.in_process.result_forms import McpResult, PlainForm, TextForRefusal, ToolUseResult

BLOCK = SimpleNamespace(text="plain")
OPENED: dict[str, tuple[type[PlainForm], Any, object, bool]] = {
    "one block of text": (ToolUseResult, {"status": "success", "content": [{"text": "a"}]}, "a", False),
    "one block of data": (ToolUseResult, {"status": "success", "content": [{"json": {"a": 1}}]}, {"a": 1}, False),
    "two blocks": (ToolUseResult, {"content": [{"text": "a"}, {"text": "b"}]}, [{"text": "a"}, {"text": "b"}], False),
    "a block of two parts": (ToolUseResult, {"content": [{"text": "a", "b": 1}]}, [{"text": "a", "b": 1}], False),
    "no blocks": (ToolUseResult, {"status": "error"}, {"status": "error"}, True),
    "within an event": (ToolUseResult, SimpleNamespace(tool_result={"content": [{"text": "a"}]}), "a", False),
    "structured content": (
        McpResult,
        SimpleNamespace(structuredContent={"a": 1}, content=[BLOCK], isError=False),
        {"a": 1},
        False,
    ),
    "text alone": (McpResult, SimpleNamespace(structured_content=None, content=[BLOCK], is_error=True), "plain", True),
}


@pytest.mark.parametrize(("form", "raw", "content", "failed"), OPENED.values(), ids=OPENED)
def test_what_is_opened_is_closed_as_it_was(form: type[PlainForm], raw: Any, content: object, failed: bool) -> None:
    handed = form(SimpleNamespace(), "c1", ())
    assert (handed.open(raw), handed.failed) == (content, failed)
    assert handed.close(handed.open(raw)) is raw


def test_what_a_fault_changed_has_the_form_of_the_framework() -> None:
    form = ToolUseResult(SimpleNamespace(), "c1", ())
    form.open({"status": "success", "content": [{"text": "a"}]})
    changed, failed = form.close({"a": 1}), form.fail(FaultError("503"))
    assert changed == {"toolUseId": "c1", "status": "success", "content": [{"text": '{"a": 1}'}]}
    assert failed == {"toolUseId": "c1", "status": "error", "content": [{"text": "Error: 503"}]}


def test_a_refusal_is_a_result_and_a_fault_is_raised() -> None:
    form, refused = TextForRefusal(SimpleNamespace(), None, ()), FaultError("the rule forbids it")
    refused.is_refused = True
    assert form.fail(refused) == "the rule forbids it"
    with pytest.raises(FaultError, match="503"):
        form.fail(FaultError("503"))
