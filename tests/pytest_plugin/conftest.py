"""A small project with an agent of its own, and pytest in it."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

# Loaded here: pytester removes what a test loads first, and Carob would be read again for each of them.
import carob.suites.documents.json
import carob.suites.documents.yaml
import carob.suites.formats.catalog
import carob_pytest.agent
import carob_pytest.failures
import carob_pytest.suites
from carob.journal.reader import Journal

AGENT = """
import os, time

def reply(prompt, conversation):
    if "boom" in prompt:
        raise RuntimeError("the agent broke")
    if "die" in prompt:
        os._exit(9)
    if "sleep" in prompt:
        time.sleep(60)
    if "refund" in prompt:
        conversation.tool_call("issue_refund", arguments={"order": "A-17"}, result={"status": "paid"})
        return "I have issued the refund."
    return f"You said: {prompt}"
"""
CONFTEST = """
import agent
import pytest

@pytest.fixture(scope="session")
def carob_target():
    return agent.reply
"""
QUIET = ("-p", "no:langsmith_plugin", "-p", "no:anyio", "-p", "no:hypothesispytest")
NOT_ASYNC = ("-p", "no:asyncio")


class Desk:
    """A project folder. `run` runs pytest in it, in this process unless it is to be another."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self._pytester = pytester
        self.path = pytester.path
        self.plugins = NOT_ASYNC
        """What is left out, as most tests do not need it and it takes its time."""
        pytester.syspathinsert()
        self.write("agent.py", AGENT)
        self.write("conftest.py", CONFTEST)

    def write(self, name: str, text: str) -> Path:
        place = self.path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(textwrap.dedent(text).lstrip())
        return place

    def suite(self, *cases: str, name: str = "desk.carob.yaml") -> Path:
        """A suite of cases, each `id: rest of its YAML in one line`."""
        entries = [f"  - {{ id: {case.partition(': ')[0]}, {case.partition(': ')[2]} }}" for case in cases]
        return self.write(name, "\n".join(["carob: 1", "cases:", *entries, ""]))

    def run(self, *args: str) -> pytest.RunResult:
        return self._pytester.runpytest_inprocess(*QUIET, *self.plugins, *args)

    def run_apart(self, *args: str) -> pytest.RunResult:
        return self._pytester.runpytest_subprocess(*QUIET, *self.plugins, *args)

    def journal(self, folder: str = "carob-results") -> Journal:
        (path,) = (self.path / folder).glob("*.jsonl")
        return Journal(path)

    def statuses(self, folder: str = "carob-results") -> dict[str, str]:
        return {record.case.id: str(record.status) for record in self.journal(folder).records()}


@pytest.fixture
def desk(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.delitem(sys.modules, "agent", raising=False)  # that of another test, which ran in this process before
    for name in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)  # pytest cuts no line of its summary where one of them is set
    monkeypatch.setenv("COLUMNS", "80")
    return Desk(pytester)


__all__ = ["carob", "carob_pytest"]
