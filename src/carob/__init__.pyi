"""The public names, and where each is: for type checkers, and for Python when one is first used."""

import carob.system.sync_async as _twins
from carob.api import arerun as arerun
from carob.api import aresume as aresume
from carob.api import arun as arun
from carob.api import check_tape as check_tape
from carob.api import convert as convert
from carob.api import judge as judge
from carob.api import judge_many as judge_many
from carob.api import list_cases as list_cases
from carob.api import load_suite as load_suite
from carob.api import prepare_judge as prepare_judge
from carob.api import read_conversations as read_conversations
from carob.api import read_tape as read_tape
from carob.api import report as report
from carob.api import rerun as rerun
from carob.api import rescore as rescore
from carob.api import resume as resume
from carob.api import run as run
from carob.api import schema as schema
from carob.api import seal_tape as seal_tape
from carob.api import self_test as self_test
from carob.checks.base import Check as Check
from carob.checks.base import CheckRequest as CheckRequest
from carob.engine.authoring import ExpectationError as ExpectationError
from carob.engine.authoring import case as case
from carob.engine.authoring import check as check
from carob.engine.authoring import suite as suite
from carob.engine.case_runner import CaseRunner as CaseRunner
from carob.engine.case_runner import open_runner as open_runner
from carob.engine.events import CaseFinished as CaseFinished
from carob.engine.events import CaseRetried as CaseRetried
from carob.engine.events import CaseStarted as CaseStarted
from carob.engine.events import Event as Event
from carob.engine.events import Listener as Listener
from carob.engine.events import Notice as Notice
from carob.engine.events import RunFinished as RunFinished
from carob.engine.events import RunStarted as RunStarted
from carob.engine.tapes import TapeReport as TapeReport
from carob.errors import CarobError as CarobError
from carob.errors import ConfigError as ConfigError
from carob.errors import Diagnostic as Diagnostic
from carob.errors import ExitCode as ExitCode
from carob.errors import SuiteError as SuiteError
from carob.errors import UsageError as UsageError
from carob.evidence.conversations import trace_from_messages as trace_from_messages
from carob.evidence.exports.record import RecordedConversation as RecordedConversation
from carob.features.audit.library import audit as audit
from carob.features.audit.model import AuditReport as AuditReport
from carob.features.check.library import check_conversations as check_conversations
from carob.features.check.model import CheckReport as CheckReport
from carob.features.compare.library import compare_runs as compare_runs
from carob.features.compare.library import history as history
from carob.features.compare.library import load_baseline as load_baseline
from carob.features.compare.library import set_baseline as set_baseline
from carob.features.compare.model import Comparison as Comparison
from carob.features.compare.model import History as History
from carob.features.coverage.library import coverage as coverage
from carob.features.coverage.model import Coverage as Coverage
from carob.features.draft.contrast import ContrastDraft as ContrastDraft
from carob.features.draft.draft import Finding as Finding
from carob.features.draft.draft import SuiteDraft as SuiteDraft
from carob.features.draft.library import adraft as adraft
from carob.features.draft.library import draft as draft
from carob.features.draft.library import draft_contrast as draft_contrast
from carob.features.draft.library import draft_rules as draft_rules
from carob.features.draft.rules import RulesDraft as RulesDraft
from carob.features.graders.library import audit_grader as audit_grader
from carob.features.graders.model import GraderAudit as GraderAudit
from carob.features.guard.conversation import GuardedConversation as GuardedConversation
from carob.features.guard.decision import CallRefusedError as CallRefusedError
from carob.features.guard.decision import Decision as Decision
from carob.features.guard.guard import Guard as Guard
from carob.features.lint.library import alint as alint
from carob.features.lint.library import lint as lint
from carob.features.lint.linter import LintReport as LintReport
from carob.features.matrix.library import matrix as matrix
from carob.features.matrix.model import Matrix as Matrix
from carob.features.setup.inspect.inspection import Inspection as Inspection
from carob.features.setup.inspect.inspection import Observation as Observation
from carob.features.setup.library import add_target as add_target
from carob.features.setup.library import ainit as ainit
from carob.features.setup.library import ainspect as ainspect
from carob.features.setup.library import init as init
from carob.features.setup.library import inspect as inspect
from carob.features.setup.write.plan import InitPlan as InitPlan
from carob.features.stress.library import astress as astress
from carob.features.stress.library import stress as stress
from carob.features.stress.session import StressResult as StressResult
from carob.features.viewer.library import open_viewer as open_viewer
from carob.features.watch.library import open_watch as open_watch
from carob.journal.reader import Journal as Journal
from carob.journal.views import RecordSummary as RecordSummary
from carob.journal.views import RunView as RunView
from carob.model.check import CheckProblem as CheckProblem
from carob.model.check import Example as Example
from carob.model.check import Field as Field
from carob.model.run import CaseRecord as CaseRecord
from carob.model.run import Summary as Summary
from carob.model.suite import Case as Case
from carob.model.suite import Suite as Suite
from carob.model.trace import Message as Message
from carob.model.trace import ToolCall as ToolCall
from carob.model.trace import Trace as Trace
from carob.model.verdict import CaseStatus as CaseStatus
from carob.model.verdict import CheckResult as CheckResult
from carob.model.verdict import EvidenceLocation as EvidenceLocation
from carob.model.verdict import Group as Group
from carob.model.verdict import Status as Status
from carob.model.verdict import Verdict as Verdict
from carob.plugins.features import CheckPlace as CheckPlace
from carob.plugins.features import Command as Command
from carob.plugins.features import Feature as Feature
from carob.plugins.features import McpTool as McpTool
from carob.plugins.features import Page as Page
from carob.plugins.features import SuiteFormat as SuiteFormat
from carob.plugins.features import TargetKind as TargetKind
from carob.plugins.project import find_project as find_project
from carob.plugins.project import read_settings as read_settings
from carob.proxy.tape.file import Tape as Tape
from carob.reports.artifacts import BinaryWriter as BinaryWriter
from carob.reports.base import Report as Report
from carob.reports.html.run_pages import PageRequest as PageRequest
from carob.reports.run_result import RunResult as RunResult
from carob.scoring.proofs import Proof as Proof
from carob.suites.formats.base import Format as Format
from carob.suites.formats.base import ParsedSuite as ParsedSuite
from carob.suites.formats.base import SuiteCatalog as SuiteCatalog
from carob.suites.formats.base import SuiteFile as SuiteFile
from carob.suites.formats.builder import SuiteBuilder as SuiteBuilder
from carob.suites.formats.builder import TextPlaces as TextPlaces
from carob.targets.base import BaseTarget as BaseTarget
from carob.targets.base import RunContext as RunContext
from carob.targets.base import Target as Target
from carob.targets.base import TargetError as TargetError
from carob.targets.capabilities import Limits as Limits
from carob.targets.config import TargetConfig as TargetConfig
from carob.targets.conversation import converse as converse
from carob.version import __version__ as __version__

aadd_target = _twins.make_async(add_target)
aaudit = _twins.make_async(audit)
aaudit_grader = _twins.make_async(audit_grader)
acheck_conversations = _twins.make_async(check_conversations)
acheck_tape = _twins.make_async(check_tape)
acompare_runs = _twins.make_async(compare_runs)
aconvert = _twins.make_async(convert)
acoverage = _twins.make_async(coverage)
adraft_contrast = _twins.make_async(draft_contrast)
adraft_rules = _twins.make_async(draft_rules)
ahistory = _twins.make_async(history)
ajudge = _twins.make_async(judge)
alist_cases = _twins.make_async(list_cases)
aload_baseline = _twins.make_async(load_baseline)
aload_suite = _twins.make_async(load_suite)
amatrix = _twins.make_async(matrix)
aread_tape = _twins.make_async(read_tape)
areport = _twins.make_async(report)
arescore = _twins.make_async(rescore)
aschema = _twins.make_async(schema)
aseal_tape = _twins.make_async(seal_tape)
aset_baseline = _twins.make_async(set_baseline)
