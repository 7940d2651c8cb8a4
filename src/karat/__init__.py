"""Karat: contract tests for AI agents.

The public names are loaded when they are first used: importing Karat opens nothing and reads nothing.
"""

from __future__ import annotations

from importlib import import_module

__version__ = "0.1.0"

TYPE_CHECKING = False  # as type checkers know it, without `typing`: until Karat is loaded, it cannot answer Ctrl-C
if TYPE_CHECKING:
    from karat.api import aadd_target as aadd_target
    from karat.api import aaudit as aaudit
    from karat.api import acompare_runs as acompare_runs
    from karat.api import aconvert as aconvert
    from karat.api import add_target as add_target
    from karat.api import ahistory as ahistory
    from karat.api import ainspect as ainspect
    from karat.api import ajudge as ajudge
    from karat.api import alint as alint
    from karat.api import aload_baseline as aload_baseline
    from karat.api import aload_suite as aload_suite
    from karat.api import areport as areport
    from karat.api import arerun as arerun
    from karat.api import arescore as arescore
    from karat.api import aresume as aresume
    from karat.api import arun as arun
    from karat.api import aset_baseline as aset_baseline
    from karat.api import audit as audit
    from karat.api import compare_runs as compare_runs
    from karat.api import convert as convert
    from karat.api import history as history
    from karat.api import inspect as inspect
    from karat.api import judge as judge
    from karat.api import lint as lint
    from karat.api import load_baseline as load_baseline
    from karat.api import load_suite as load_suite
    from karat.api import report as report
    from karat.api import rerun as rerun
    from karat.api import rescore as rescore
    from karat.api import resume as resume
    from karat.api import run as run
    from karat.api import set_baseline as set_baseline
    from karat.api import viewer as viewer
    from karat.case_runner import CaseRunner as CaseRunner
    from karat.case_runner import open_runner as open_runner
    from karat.checks.base import Check as Check
    from karat.checks.base import Reading as Reading
    from karat.engine.events import CaseFinished as CaseFinished
    from karat.engine.events import CaseRetried as CaseRetried
    from karat.engine.events import CaseStarted as CaseStarted
    from karat.engine.events import Event as Event
    from karat.engine.events import Listener as Listener
    from karat.engine.events import Noticed as Noticed
    from karat.engine.events import RunFinished as RunFinished
    from karat.engine.events import RunStarted as RunStarted
    from karat.errors import ConfigError as ConfigError
    from karat.errors import Exit as Exit
    from karat.errors import KaratError as KaratError
    from karat.errors import Problem as Problem
    from karat.errors import SuiteError as SuiteError
    from karat.errors import UsageError as UsageError
    from karat.inspections.inspection import Inspection as Inspection
    from karat.inspections.inspection import Sighting as Sighting
    from karat.journal.reader import Glimpse as Glimpse
    from karat.journal.reader import Journal as Journal
    from karat.model.audit import AuditReport as AuditReport
    from karat.model.check import Example as Example
    from karat.model.check import Field as Field
    from karat.model.check import Flaw as Flaw
    from karat.model.comparison import Comparison as Comparison
    from karat.model.history import History as History
    from karat.model.run import CaseRecord as CaseRecord
    from karat.model.run import RunView as RunView
    from karat.model.run import Summary as Summary
    from karat.model.suite import Case as Case
    from karat.model.suite import Suite as Suite
    from karat.model.trace import ExecutionContext as ExecutionContext
    from karat.model.trace import Message as Message
    from karat.model.trace import ToolCall as ToolCall
    from karat.model.trace import Trace as Trace
    from karat.model.verdict import At as At
    from karat.model.verdict import CaseStatus as CaseStatus
    from karat.model.verdict import CheckResult as CheckResult
    from karat.model.verdict import Group as Group
    from karat.model.verdict import Status as Status
    from karat.model.verdict import Verdict as Verdict
    from karat.reports.artifacts import Sink as Sink
    from karat.reports.catalog import Report as Report
    from karat.reports.run_result import RunResult as RunResult
    from karat.smells.linter import LintReport as LintReport
    from karat.targets.base import RunContext as RunContext
    from karat.targets.base import Target as Target
    from karat.targets.base import TargetError as TargetError
    from karat.targets.base import converse as converse
    from karat.targets.config import TargetConfig as TargetConfig
    from karat.targets.limits import Limits as Limits
    from karat.validators import DecisionValidator as DecisionValidator
    from karat.validators import QAValidator as QAValidator
    from karat.validators import Validation as Validation

_HOMES = {
    "karat.api": (
        "aadd_target",
        "aaudit",
        "add_target",
        "ahistory",
        "ainspect",
        "acompare_runs",
        "aconvert",
        "ajudge",
        "alint",
        "aload_baseline",
        "aload_suite",
        "areport",
        "arerun",
        "arescore",
        "aresume",
        "arun",
        "aset_baseline",
        "audit",
        "history",
        "inspect",
        "compare_runs",
        "convert",
        "judge",
        "lint",
        "load_baseline",
        "load_suite",
        "report",
        "rerun",
        "rescore",
        "resume",
        "run",
        "set_baseline",
        "viewer",
    ),
    "karat.case_runner": ("CaseRunner", "open_runner"),
    "karat.checks.base": ("Check", "Reading"),
    "karat.engine.events": (
        "CaseFinished",
        "CaseRetried",
        "CaseStarted",
        "Event",
        "Listener",
        "Noticed",
        "RunFinished",
        "RunStarted",
    ),
    "karat.errors": ("ConfigError", "Exit", "KaratError", "Problem", "SuiteError", "UsageError"),
    "karat.inspections.inspection": ("Inspection", "Sighting"),
    "karat.journal.reader": ("Glimpse", "Journal"),
    "karat.model.audit": ("AuditReport",),
    "karat.model.check": ("Example", "Field", "Flaw"),
    "karat.model.comparison": ("Comparison",),
    "karat.model.history": ("History",),
    "karat.model.run": ("CaseRecord", "RunView", "Summary"),
    "karat.model.suite": ("Case", "Suite"),
    "karat.model.trace": ("ExecutionContext", "Message", "ToolCall", "Trace"),
    "karat.model.verdict": ("At", "CaseStatus", "CheckResult", "Group", "Status", "Verdict"),
    "karat.reports.artifacts": ("Sink",),
    "karat.reports.catalog": ("Report",),
    "karat.reports.run_result": ("RunResult",),
    "karat.smells.linter": ("LintReport",),
    "karat.targets.base": ("RunContext", "Target", "TargetError", "converse"),
    "karat.targets.limits": ("Limits",),
    "karat.targets.config": ("TargetConfig",),
    "karat.validators": ("DecisionValidator", "QAValidator", "Validation"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME)]


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # a type checker knows the names above, and should not take just any

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module 'karat' has no attribute {name!r}")
        return getattr(import_module(_HOME[name]), name)
