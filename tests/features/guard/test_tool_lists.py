"""A tool that no rule names is said: by `guard check`, where it is wrapped, and in the journal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import carob as library
from carob.errors import UsageError
from cli.support import Ran
from features.guard.policies import CALLS, write_policy

TOOLS = """
def get_invoice(id): ...
def pay_invoices(id): ...
def send_mail(to): ...
TOOLS = [get_invoice, pay_invoices, send_mail]
NAMED = {"get_invoice": get_invoice, "send_mail": lambda to: to}
"""
DEFINED = [{"name": "pay_invoice", "inputSchema": {}}, {"name": "send_mail", "inputSchema": {}}]
MAIL = "no rule names send_mail."
NEAR = "no rule names pay_invoices. Did you mean 'pay_invoice'?"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("tools.py:TOOLS", [NEAR, MAIL, "3 tools, 2 that no rule names"]),
        ("tools.py:NAMED", [MAIL, "2 tools, 1 that no rule names"]),
        ("answer.json", [MAIL, "2 tools, 1 that no rule names"]),
        ("openai.json", [MAIL, "2 tools, 1 that no rule names"]),
        ("names.json", ["1 tool, 0 that no rule names"]),
        ("decisions.jsonl", [MAIL, "2 tools, 1 that no rule names"]),
    ],
)
def test_check_lists_tools_that_no_rule_names(
    here: None, carob: Callable[..., Ran], source: str, said: list[str]
) -> None:
    policy = write_policy(Path(), CALLS)
    Path("tools.py").write_text(TOOLS)
    Path("answer.json").write_text(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": DEFINED}}))
    functions = [{"type": "function", "function": {"name": each["name"], "parameters": {}}} for each in DEFINED]
    Path("openai.json").write_text(json.dumps(functions))
    Path("names.json").write_text('["mcp__desk__pay_invoice"]')
    guard = library.Guard(policy, journal="decisions.jsonl")
    with guard.conversation(user="Look it up.") as conversation:
        for tool in ("get_invoice", "send_mail"):
            conversation.report(guard.allow(tool, {"id": "A"}), {})
    done = carob("guard", "check", str(policy), "--tools", source)
    assert done.code == 0, done.err
    assert done.out.splitlines() == ["look-first  blocks", *said]


def test_check_refuses_what_lists_no_tools(here: None, carob: Callable[..., Ran]) -> None:
    policy = write_policy(Path(), CALLS)
    Path("empty.json").write_text('{"tools": []}')
    for source in ("empty.json", "missing.json", "tools.py:TOOLS"):
        done = carob("guard", "check", str(policy), "--tools", source)
        assert done.code == 4, done.out


def test_wrapping_a_tool_that_no_rule_names_is_an_error_if_that_is_asked_for(tmp_path: Path) -> None:
    guard = library.Guard(write_policy(tmp_path, CALLS))

    def pay_invoices(id: str) -> str:
        return id

    with pytest.raises(UsageError, match=r"no rule names the tool 'pay_invoices'\. Did you mean 'pay_invoice'\?"):
        guard.tool(pay_invoices, strict=True)
    with guard.conversation() as conversation, pytest.raises(UsageError):
        conversation.tool(pay_invoices, strict=True)
    assert guard.tool(pay_invoices, name="pay_invoice", strict=True).__name__ == "pay_invoice"


def test_the_journal_counts_calls_that_no_rule_looked_at(here: None, carob: Callable[..., Ran]) -> None:
    guard = library.Guard(write_policy(Path(), CALLS), journal="decisions.jsonl")
    with guard.conversation():
        assert [guard.allow(tool, {"id": "A"}).is_unnamed for tool in ("get_invoice", "send_mail", "pay_invoice")] == [
            False,
            True,
            False,
        ]
    assert "3 decisions, 1 refused, 1 that no rule looked at" in carob("guard", "log", "decisions.jsonl").out
