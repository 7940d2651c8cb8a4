"""Streams of shapes that Carob does not know: mapped by configuration alone, and found by `carob init --inspect`.

Both mappings must judge right and wrong answers as the script of the agent says, not as the stream is read.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

import carob
from carob.features.setup.inspect.services import inspect_service
from carob.model.trace import Tokens
from carob.targets.base import RunContext, TargetError
from carob.targets.config import TargetConfig
from targets.conftest import case, opened
from targets.http.foreign_streams import ONLY_INSPECTED, SHAPES, Shape, service
from targets.http.server import serving
from targets.http.unusual_streams import UNUSUAL

LOOKUP = {"tool": "lookup_order", "arguments": {"order": "A-17"}, "result": {"state": "open"}, "success": True}
REFUND = {"tool": "issue_refund", "arguments": {"order": "A-17", "amount": 40}, "success": True}
WHERE, PAY, GONE, HELLO = "Where is A-17?", "Refund A-17.", "Where is B-99?", "Hello!"
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "right": (
        WHERE,
        "PASS",
        {"outcome": "tool_success", "tool_calls": [LOOKUP], "must_say_any": ["Order A-17 is open."]},
    ),
    "wrong-words": (WHERE, "FAIL", {"must_say_any": ["closed"]}),
    "thoughts-are-not-said": (WHERE, "PASS", {"must_not_say": ["They ask"]}),
    "wrong-arguments": (WHERE, "FAIL", {"tool_calls": [LOOKUP | {"arguments": {"order": "B-17"}}]}),
    "wrong-result": (WHERE, "FAIL", {"tool_calls": [LOOKUP | {"result": {"state": "shipped"}}]}),
    "forbidden-and-not-called": (WHERE, "PASS", {"tool_calls_none": ["issue_refund"]}),
    "forbidden-and-called": (PAY, "FAIL", {"tool_calls_none": ["issue_refund"]}),
    "two-calls": (PAY, "PASS", {"tool_calls": [LOOKUP, REFUND], "tool_order": ["lookup_order", "issue_refund"]}),
    "no-call-too-many": (WHERE, "PASS", {"max_tool_calls": 1, "answer_equals": "Order A-17 is open."}),
    "too-many-calls": (PAY, "FAIL", {"max_tool_calls": 1}),
    "a-tool-that-failed": (
        GONE,
        "PASS",
        {"tool_calls": [{"tool": "lookup_order", "success": False}], "outcome": "graceful_error"},
    ),
    "a-failure-is-no-success": (GONE, "FAIL", {"outcome": "tool_success", "tool_calls_any": ["lookup_order"]}),
    "no-call": (HELLO, "PASS", {"tool_calls_none": ["lookup_order"], "max_tool_calls": 0, "must_say_any": ["look up"]}),
}


async def statuses(url: str, options: dict[str, Any], folder: Path) -> dict[str, str]:
    """How each case comes out; one that breaks is an ERROR."""
    file = folder / "suite.yaml"
    cases = [{"id": key, "prompt": prompt, "expected": asked} for key, (prompt, _, asked) in CASES.items()]
    file.write_text(json.dumps({"carob": 1, "name": "Desk", "cases": cases}))
    kind, _, spec = url.partition(":")
    found: dict[str, str] = {}
    async with opened(kind, spec, options=options) as target:
        for one in carob.load_suite(str(file)).cases:
            trace = await target.run(one, RunContext())
            found[one.id] = str(carob.judge(one, trace).status)
            assert (trace.tokens is None) or trace.tokens.input in (7, 8, 9)
        with pytest.raises(TargetError):
            await target.run(case("Are you broken?"), RunContext())
    return found


WANTED = {key: status for key, (_, status, _) in CASES.items()}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
async def test_a_stream_is_mapped_by_configuration_alone(shape: Shape, tmp_path: Path) -> None:
    async with serving(service(shape)) as server:
        options = {"body": {"message": "{prompt}"}, **shape.options}
        assert await statuses(server.url, options, tmp_path) == WANTED
        kind, spec = server.target
        async with opened(kind, spec, options=options) as target:
            trace = await target.run(case(PAY), RunContext())
            with pytest.raises(TargetError, match="the service reports a failure: the model is down"):
                await target.run(case("Are you broken?"), RunContext())
    assert trace.tokens == Tokens(9, 5), "usage is read from the event that ends the stream"
    assert trace.final_message == "One moment. I refunded 40 for order A-17."


PROPOSED = ("flat-kinds", "event-names", "nested-envelopes", "states-of-a-tool")
"""The shapes whose kinds and usual keys say all: inspect proposes the whole mapping."""
EVERY = SHAPES | ONLY_INSPECTED | UNUSUAL


@pytest.mark.parametrize("name", PROPOSED)
async def test_a_stream_of_usual_keys_is_proposed(name: str, tmp_path: Path) -> None:
    async with serving(service(SHAPES[name])) as server:
        found = await inspect_service(TargetConfig(kind="http", spec=server.url, name="bot"), PAY, GONE, HELLO)
        assert found.trace is not None, (found.problem, found.sightings)
        options = {option: value for option, value in found.table.items() if option != "use"}
        assert await statuses(server.url, options, tmp_path) == WANTED, options
    assert found.trace.tokens == Tokens(9, 5)
    assert any("a call" in line for line in dict(found.sightings)["events"])
    assert tomllib.loads(found.toml)["targets"]["bot"] == found.table


@pytest.mark.parametrize("prompts", [(PAY, GONE, HELLO), (PAY,)], ids=["three prompts", "one prompt"])
@pytest.mark.parametrize("shape", EVERY.values(), ids=EVERY)
async def test_a_proposal_is_never_wrong(shape: Shape, prompts: tuple[str, ...], tmp_path: Path) -> None:
    """What the keys do not say is unknown, or the events are listed for a mapping by hand."""
    async with serving(service(shape)) as server:
        found = await inspect_service(TargetConfig(kind="http", spec=server.url, name="bot"), *prompts)
        if found.trace is None:
            assert found.problem
            assert (
                dict(found.sightings).keys() & {"events", "not clear", "was refused"}
                or shape.kind == "application/json"
            )
            return
        options = {option: value for option, value in found.table.items() if option != "use"}
        verdicts = await statuses(server.url, options, tmp_path)
    assert {key: status for key, status in verdicts.items() if status not in (WANTED[key], "PARTIAL")} == {}, options
