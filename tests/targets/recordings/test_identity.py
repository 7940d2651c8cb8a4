"""What is recorded is replayed for the case that it is of; what may be of several cases is refused, with the fix."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from carob.targets.base import TargetError
from targets.conftest import ask, opened

PROMPT = "Where is A-17?"


def otlp(trace: str, answer: str, **rest: str) -> dict[str, Any]:
    """A turn of one span, as a collector writes it."""
    messages = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps([{"role": "user", "content": PROMPT}]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "content": answer}]),
        **rest,
    }
    span = {
        "traceId": trace * 16,
        "spanId": trace * 8,
        "name": "chat",
        "startTimeUnixNano": "1000000000",
        "endTimeUnixNano": "2000000000",
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in messages.items()],
    }
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": [span]}]}]}


def write(folder: Path, *lines: dict[str, Any]) -> None:
    (folder / "spans.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


async def replay(folder: Path, *cases: str) -> list[str]:
    """The answers that cases of one prompt get, or why they get none."""
    said = []
    async with opened("replay", "spans.jsonl", folder) as target:
        for name in cases:
            try:
                said.append((await ask(target, PROMPT, case_id=name)).final_message)
            except TargetError as error:
                said.append(error.message)
    return said


async def test_one_trace_of_one_prompt_is_that_cases(tmp_path: Path) -> None:
    write(tmp_path, otlp("1a", "Shipped."))
    assert await replay(tmp_path, "a") == ["Shipped."]


async def test_of_two_traces_with_one_prompt_neither_is_taken(tmp_path: Path) -> None:
    write(tmp_path, otlp("1a", "Shipped."), otlp("2b", "Lost."))
    for why in await replay(tmp_path, "a", "b"):
        assert "2 traces" in why
        assert "carob.case" in why


async def test_one_trace_is_not_judged_for_two_cases(tmp_path: Path) -> None:
    write(tmp_path, otlp("1a", "Shipped."))
    first, second = await replay(tmp_path, "a", "b")
    assert first == "Shipped."
    assert "also that of case 'a'" in second


async def test_traces_that_name_their_case_are_its_own(tmp_path: Path) -> None:
    write(tmp_path, otlp("1a", "Shipped.", **{"carob.case": "b"}), otlp("2b", "Lost.", **{"carob.case": "a"}))
    assert await replay(tmp_path, "a", "b") == ["Lost.", "Shipped."]
