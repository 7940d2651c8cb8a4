"""OpenAI's Agents SDK and pydantic-ai behind a guard, live: what ran is in the tool's own log, and nothing else."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from counterparts.environments import ROOT, python_with

pytestmark = [pytest.mark.counterpart, pytest.mark.limit(600)]

DESKS = Path(__file__).parent / "guarded"
POLICY = """
carob: 1
rules:
  - id: look-first
    why: Look an invoice up before you pay it.
    each: { call: pay_invoice, arguments: { id: { $as: id }, amount: { $lte: 100 } } }
    needs: { before: { call: get_invoice, success: true, arguments: { id: { $same: id } } } }
  - { id: big, why: A person looks at large sums., mode: ask, each: { call: pay_invoice },
      where: { each.arguments.amount: { $lte: 100 } } }
"""
DESK_OF = {"openai-agents": "openai_agents_desk.py", "pydantic-ai-slim": "pydantic_ai_desk.py"}


class Work(NamedTuple):
    """What an agent does behind the guard."""

    package: str
    mode: str
    paid: list[str]
    asked: int
    refused_for: str = ""


WORK = (
    Work("openai-agents", "calls", ["A 80"], 0, "look-first: Look an invoice up"),
    Work("openai-agents", "approve", ["A 500"], 1),
    Work("openai-agents", "reject", [], 1),
    Work("openai-agents", "always", ["A 500"], 1, "a person approved a call with other arguments"),
    Work("pydantic-ai-slim", "calls", ["A 80"], 0, "look-first: Look an invoice up"),
    Work("pydantic-ai-slim", "approve", ["A 500"], 1),
    Work("pydantic-ai-slim", "reject", [], 1),
    Work("pydantic-ai-slim", "change", [], 1, "a person approved a call with other arguments"),
)


@pytest.mark.parametrize("work", WORK, ids=lambda work: f"{work.package}-{work.mode}")
def test_only_allowed_and_approved_calls_run(work: Work, tmp_path: Path) -> None:
    python = python_with(f"guard-{work.package}", "--editable", str(ROOT), work.package)
    policy, log = tmp_path / "policy.carob.yaml", tmp_path / "payments"
    policy.write_text(POLICY)
    log.touch()
    command = [str(python), str(DESKS / DESK_OF[work.package]), str(policy), str(log), work.mode]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert log.read_text().splitlines() == work.paid
    assert done.stdout.count("asked {") == work.asked
    assert ("was not made" in done.stdout) is bool(work.refused_for)
    assert work.refused_for in done.stdout
