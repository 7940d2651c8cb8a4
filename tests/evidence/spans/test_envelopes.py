"""What frameworks put around arguments and results is told by its shape, and taken off."""

from __future__ import annotations

import json

import pytest

from carob.evidence.spans.envelopes import parameters_in, passed_arguments, result_within
from carob.evidence.spans.otlp import NOT_RECORDED
from carob.text.tool_results import call_success

SCHEMA = {"type": "object", "properties": {"to": {"type": "string"}, "text": {"type": "string"}}, "required": ["to"]}
TABLE = {"to": {"type": "string", "description": "Who."}, "text": {"anyOf": [{"type": "string"}, {"type": "null"}]}}
SENT = {"to": "ann", "text": "hi"}


@pytest.mark.parametrize(
    ("value", "names"),
    [
        pytest.param(SCHEMA, ("to", "text"), id="a-schema"),
        pytest.param({"properties": {}, "type": "object", "title": "List"}, (), id="of-no-parameters"),
        pytest.param(TABLE, ("to", "text"), id="a-table-of-schemas"),
        pytest.param(SENT, None, id="arguments"),
        pytest.param({"filter": {"type": "string", "value": 3}}, None, id="an-object-with-a-type"),
        pytest.param({"properties": {"a": 1}, "place": "x"}, None, id="an-argument-of-that-name"),
        pytest.param({}, None, id="nothing"),
        pytest.param([SCHEMA], None, id="a-list"),
    ],
)
def test_a_schema_is_known_by_its_shape(value: object, names: tuple[str, ...] | None) -> None:
    assert parameters_in(value) == names


@pytest.mark.parametrize(
    ("value", "parameters", "arguments"),
    [
        pytest.param(SENT, None, SENT, id="plain"),
        pytest.param({"kwargs": SENT}, None, SENT, id="by-name"),
        pytest.param(json.dumps({"args": [], "sanitize": True, "kwargs": SENT}), ("to", "text"), SENT, id="as-text"),
        pytest.param({"args": ["ann"], "kwargs": {"text": "hi"}}, ("to", "text"), SENT, id="by-place-and-name"),
        pytest.param({"args": [SENT], "kwargs": {}}, ("to", "text"), SENT, id="handed-over-whole"),
        pytest.param({"args": ["ann"], "kwargs": {}}, None, NOT_RECORDED, id="by-place-of-unknown-names"),
        pytest.param({"args": ["ann", "hi", 3], "kwargs": {}}, ("to", "text"), NOT_RECORDED, id="too-many"),
        pytest.param({"kwargs": SENT}, ("kwargs",), {"kwargs": SENT}, id="a-parameter-of-that-name"),
        pytest.param({"kwargs": SENT, "id": 3}, None, {"kwargs": SENT, "id": 3}, id="next-to-another-argument"),
        pytest.param("ann", ("to",), "ann", id="a-bare-value"),
    ],
)
def test_arguments_are_taken_out_of_what_python_passes(
    value: object, parameters: tuple[str, ...] | None, arguments: object
) -> None:
    assert passed_arguments(value, parameters) == arguments


ROOM = {"room": "A", "free": True}
TEXT = json.dumps(ROOM)


@pytest.mark.parametrize(
    ("value", "result", "succeeds"),
    [
        pytest.param(ROOM, ROOM, True, id="plain"),
        pytest.param({"blocks": [{"text": "A"}], "raw_output": ROOM, "is_error": False}, ROOM, True, id="llamaindex"),
        pytest.param({"blocks": [{"text": TEXT}], "is_error": False}, ROOM, True, id="blocks-alone"),
        pytest.param(
            {"blocks": [{"text": "no"}], "raw_output": "no", "is_error": True},
            {"blocks": [{"text": "no"}], "raw_output": "no", "is_error": True},
            False,
            id="llamaindex-failed",
        ),
        pytest.param({"content": [{"type": "text", "text": TEXT}], "isError": False}, ROOM, True, id="mcp"),
        pytest.param({"content": [], "structuredContent": ROOM, "isError": False}, ROOM, True, id="mcp-structured"),
        pytest.param(
            "meta=None content=[TextContent(type='text', text='free', annotations=None, meta=None)] "
            "structuredContent=None isError=False",
            "free",
            True,
            id="mcp-as-python-prints-it",
        ),
        pytest.param([{"type": "text", "text": "free", "id": "lc_4f1c"}], "free", True, id="a-block-with-a-random-id"),
        pytest.param([{"type": "text", "text": "1"}, {"type": "text", "text": "2"}], "12", True, id="text-in-parts"),
        pytest.param([{"type": "text", "text": TEXT}] * 2, [ROOM, ROOM], True, id="a-list-of-data"),
        pytest.param(
            {"type": "tool", "data": {"content": [{"type": "text", "text": TEXT, "id": "x"}], "tool_call_id": "c"}},
            ROOM,
            True,
            id="in-a-message",
        ),
        pytest.param([{"id": 1, "text": "nice"}], [{"id": 1, "text": "nice"}], True, id="records-with-a-text"),
        pytest.param({"content": ["a"], "title": "t"}, {"content": ["a"], "title": "t"}, True, id="content-of-its-own"),
        pytest.param(NOT_RECORDED, NOT_RECORDED, True, id="nothing"),
    ],
)
def test_a_result_is_what_the_tool_gave(value: object, result: object, succeeds: bool) -> None:
    assert result_within(value) == result
    assert call_success(result_within(value)) is succeeds
