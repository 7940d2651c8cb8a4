"""Karat: contract tests for AI agents.

The public names are loaded when they are first used: importing Karat opens nothing and reads nothing. So each is
written twice, where type checkers look and where Python does; a test holds the two together.
"""

from __future__ import annotations

from importlib import import_module

from karat.version import __version__ as __version__

TYPE_CHECKING = False  # as type checkers know it, without `typing`: until Karat is loaded, it cannot answer Ctrl-C
if TYPE_CHECKING:
    from karat.analysis.audit.model import AuditReport as AuditReport
    from karat.analysis.compare.model import Comparison as Comparison
    from karat.analysis.compare.model import History as History
    from karat.analysis.draft.draft import Finding as Finding
    from karat.analysis.draft.draft import SuiteDraft as SuiteDraft
    from karat.analysis.lint.linter import LintReport as LintReport
    from karat.analysis.stress.session import StressResult as StressResult
    from karat.api import aadd_target as aadd_target
    from karat.api import aaudit as aaudit
    from karat.api import acheck_tape as acheck_tape
    from karat.api import acompare_runs as acompare_runs
    from karat.api import aconvert as aconvert
    from karat.api import add_target as add_target
    from karat.api import adraft as adraft
    from karat.api import ahistory as ahistory
    from karat.api import ainit as ainit
    from karat.api import ainspect as ainspect
    from karat.api import ajudge as ajudge
    from karat.api import alint as alint
    from karat.api import alist_cases as alist_cases
    from karat.api import aload_baseline as aload_baseline
    from karat.api import aload_suite as aload_suite
    from karat.api import aread_tape as aread_tape
    from karat.api import areport as areport
    from karat.api import arerun as arerun
    from karat.api import arescore as arescore
    from karat.api import aresume as aresume
    from karat.api import arun as arun
    from karat.api import aschema as aschema
    from karat.api import aseal_tape as aseal_tape
    from karat.api import aset_baseline as aset_baseline
    from karat.api import astress as astress
    from karat.api import audit as audit
    from karat.api import check_tape as check_tape
    from karat.api import compare_runs as compare_runs
    from karat.api import convert as convert
    from karat.api import draft as draft
    from karat.api import history as history
    from karat.api import init as init
    from karat.api import inspect as inspect
    from karat.api import judge as judge
    from karat.api import lint as lint
    from karat.api import list_cases as list_cases
    from karat.api import load_baseline as load_baseline
    from karat.api import load_suite as load_suite
    from karat.api import open_viewer as open_viewer
    from karat.api import read_tape as read_tape
    from karat.api import report as report
    from karat.api import rerun as rerun
    from karat.api import rescore as rescore
    from karat.api import resume as resume
    from karat.api import run as run
    from karat.api import schema as schema
    from karat.api import seal_tape as seal_tape
    from karat.api import self_test as self_test
    from karat.api import set_baseline as set_baseline
    from karat.api import stress as stress
    from karat.checks.base import Check as Check
    from karat.checks.base import CheckRequest as CheckRequest
    from karat.engine.authoring import ExpectationError as ExpectationError
    from karat.engine.authoring import case as case
    from karat.engine.authoring import check as check
    from karat.engine.authoring import suite as suite
    from karat.engine.case_runner import CaseRunner as CaseRunner
    from karat.engine.case_runner import open_runner as open_runner
    from karat.engine.events import CaseFinished as CaseFinished
    from karat.engine.events import CaseRetried as CaseRetried
    from karat.engine.events import CaseStarted as CaseStarted
    from karat.engine.events import Event as Event
    from karat.engine.events import Listener as Listener
    from karat.engine.events import Notice as Notice
    from karat.engine.events import RunFinished as RunFinished
    from karat.engine.events import RunStarted as RunStarted
    from karat.engine.tapes import TapeReport as TapeReport
    from karat.errors import ConfigError as ConfigError
    from karat.errors import Diagnostic as Diagnostic
    from karat.errors import ExitCode as ExitCode
    from karat.errors import KaratError as KaratError
    from karat.errors import SuiteError as SuiteError
    from karat.errors import UsageError as UsageError
    from karat.evidence.conversations import trace_from_messages as trace_from_messages
    from karat.journal.reader import Journal as Journal
    from karat.journal.views import RecordSummary as RecordSummary
    from karat.journal.views import RunView as RunView
    from karat.model.check import CheckProblem as CheckProblem
    from karat.model.check import Example as Example
    from karat.model.check import Field as Field
    from karat.model.run import CaseRecord as CaseRecord
    from karat.model.run import Summary as Summary
    from karat.model.suite import Case as Case
    from karat.model.suite import Suite as Suite
    from karat.model.trace import Message as Message
    from karat.model.trace import ToolCall as ToolCall
    from karat.model.trace import Trace as Trace
    from karat.model.verdict import CaseStatus as CaseStatus
    from karat.model.verdict import CheckResult as CheckResult
    from karat.model.verdict import EvidenceLocation as EvidenceLocation
    from karat.model.verdict import Group as Group
    from karat.model.verdict import Status as Status
    from karat.model.verdict import Verdict as Verdict
    from karat.proxy.tape.file import Tape as Tape
    from karat.reports.artifacts import BinaryWriter as BinaryWriter
    from karat.reports.base import Report as Report
    from karat.reports.run_result import RunResult as RunResult
    from karat.scoring.proofs import Proof as Proof
    from karat.setup.inspect.inspection import Inspection as Inspection
    from karat.setup.inspect.inspection import Observation as Observation
    from karat.setup.write.plan import InitPlan as InitPlan
    from karat.suites.formats.base import Format as Format
    from karat.suites.formats.base import ParsedSuite as ParsedSuite
    from karat.suites.formats.base import SuiteCatalog as SuiteCatalog
    from karat.suites.formats.base import SuiteFile as SuiteFile
    from karat.suites.formats.builder import SuiteBuilder as SuiteBuilder
    from karat.suites.formats.builder import TextPlaces as TextPlaces
    from karat.targets.base import BaseTarget as BaseTarget
    from karat.targets.base import RunContext as RunContext
    from karat.targets.base import Target as Target
    from karat.targets.base import TargetError as TargetError
    from karat.targets.capabilities import Limits as Limits
    from karat.targets.config import TargetConfig as TargetConfig
    from karat.targets.conversation import converse as converse

_HOMES = {
    "karat.api": "add_target audit check_tape compare_runs convert draft history init inspect judge lint list_cases"
    " load_baseline load_suite open_viewer read_tape report rerun rescore resume run schema seal_tape self_test"
    " set_baseline stress",
    "karat.engine.case_runner": "CaseRunner open_runner",
    "karat.engine.authoring": "ExpectationError case check suite",
    "karat.checks.base": "Check CheckRequest",
    "karat.analysis.draft.draft": "Finding SuiteDraft",
    "karat.engine.events": "CaseFinished CaseRetried CaseStarted Event Listener Notice RunFinished RunStarted",
    "karat.errors": "ConfigError Diagnostic ExitCode KaratError SuiteError UsageError",
    "karat.setup.inspect.inspection": "Inspection Observation",
    "karat.journal.reader": "Journal",
    "karat.journal.views": "RecordSummary RunView",
    "karat.analysis.audit.model": "AuditReport",
    "karat.analysis.stress.session": "StressResult",
    "karat.engine.tapes": "TapeReport",
    "karat.proxy.tape.file": "Tape",
    "karat.scoring.proofs": "Proof",
    "karat.setup.write.plan": "InitPlan",
    "karat.model.check": "CheckProblem Example Field",
    "karat.analysis.compare.model": "Comparison History",
    "karat.model.run": "CaseRecord Summary",
    "karat.model.suite": "Case Suite",
    "karat.evidence.conversations": "trace_from_messages",
    "karat.model.trace": "Message ToolCall Trace",
    "karat.model.verdict": "CaseStatus CheckResult EvidenceLocation Group Status Verdict",
    "karat.reports.artifacts": "BinaryWriter",
    "karat.reports.base": "Report",
    "karat.reports.run_result": "RunResult",
    "karat.analysis.lint.linter": "LintReport",
    "karat.suites.formats.base": "Format ParsedSuite SuiteCatalog SuiteFile",
    "karat.suites.formats.builder": "SuiteBuilder TextPlaces",
    "karat.targets.base": "BaseTarget RunContext Target TargetError",
    "karat.targets.conversation": "converse",
    "karat.targets.capabilities": "Limits",
    "karat.targets.config": "TargetConfig",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}
_HOME |= {
    f"a{name}": home for name, home in _HOME.items() if home == "karat.api" and name not in ("open_viewer", "self_test")
}  # to be awaited

__all__ = ["__version__", *sorted(_HOME)]


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # a type checker knows the names above, and should not take just any

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module 'karat' has no attribute {name!r}")
        return getattr(import_module(_HOME[name]), name)
