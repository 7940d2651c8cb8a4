"""The gates of karat.toml, asked about the journal that a pytest session wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.analysis.compare.comparisons import compare_runs
from karat.errors import UsageError
from karat.plugins.project import Project
from karat_pytest.failures import GateFailure

if TYPE_CHECKING:
    from karat_pytest.state import SessionState


def has_gates(project: Project) -> bool:
    """Whether the configuration has any."""
    return bool(project.content.get("gate"))


def judge_gates(state: SessionState, nodeid: str) -> None:
    """Compare the run of a suite with its base. Raises GateFailure unless every gate is met."""
    journal = state.journals.end(nodeid)
    if journal is None:
        fix = "Run the cases of the suite together with its gate."
        raise UsageError("there is no run for the gates to judge.", where=nodeid, fix=fix, slug="no-run")
    run = state.journals.books[nodeid].run
    together = sum(book.has_gate for book in state.journals.books.values())
    found = compare_runs(state.gate_base, journal, run.results_dir, {}, None, run.project, together=max(together, 1))
    if any(one.verdict != "met" for one in found.gates):
        raise GateFailure(found.gates)
