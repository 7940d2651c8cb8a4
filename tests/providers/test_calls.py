"""A call of a tool is read alike from replies, messages, result files and the short form, whoever wrote it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from carob.evidence.conversations import trace_from_messages
from carob.evidence.short_form import read, tool_call
from carob.features.importers.promptfoo.results import tool_calls
from carob.providers.messages import read_calls

ROWS: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("calls.yaml").read_text())
ALONE = [row for row in ROWS if "alone" in row]
SHORT = [row for row in ALONE if row.get("short", True)]
READ = [("pay", {"order": 7})]


def whose(row: dict[str, Any]) -> str:
    return str(row["of"])


@pytest.mark.parametrize("row", ROWS, ids=whose)
def test_calls_of_an_answer(row: dict[str, Any]) -> None:
    value = row.get("alone", row.get("around", row.get("none")))
    expected = None if "none" in row else READ
    for answer in (value, [value]) if "alone" in row else (value,):
        calls, of_result = read_calls(answer), tool_calls(answer)
        assert (calls and [(call.name, call.arguments) for call in calls]) == expected
        assert (of_result and [(call["name"], call["arguments"]) for call in of_result]) == expected


@pytest.mark.parametrize("row", SHORT, ids=whose)
def test_calls_of_the_short_form(row: dict[str, Any]) -> None:
    forms = ({"final_message": "", "tool_calls": [row["alone"] | {"result": 1}]},)
    for form in (*forms, *(read({"turns": [form]}).turns or () for form in forms)):
        short = read(form) if isinstance(form, dict) else form[0]
        (call,) = map(tool_call, short.tool_calls or ())
        assert (call.name, call.arguments, call.result, call.success) == (*READ[0], 1, True)


@pytest.mark.parametrize("row", ALONE, ids=whose)
def test_calls_of_messages(row: dict[str, Any]) -> None:
    trace = trace_from_messages(
        [{"role": "user", "content": "Pay."}, {"role": "assistant", "tool_calls": [row["alone"]]}]
    )
    assert [(call.name, call.arguments) for call in trace.tool_calls] == READ


def test_a_key_that_no_call_has_is_refused_whoever_wrote_the_call() -> None:
    for row in SHORT:
        with pytest.raises(ValueError, match=r"unknown key 'reslt' in `tool_calls`\. Did you mean 'result'"):
            read({"final_message": "", "tool_calls": [row["alone"] | {"reslt": 1}]})
