"""Karat: contract tests for AI agents.

The public names are loaded when they are first used: importing Karat opens nothing and reads nothing.
"""

from __future__ import annotations

from importlib import import_module

__version__ = "0.1.0"

TYPE_CHECKING = False  # as type checkers know it, without `typing`: until Karat is loaded, it cannot answer Ctrl-C
if TYPE_CHECKING:
    from karat.api import ajudge, aload_suite, arun, judge, load_suite, rescore, run
    from karat.errors import KaratError, SuiteError
    from karat.model.run import CaseRecord, Summary
    from karat.model.suite import Case, Suite
    from karat.model.trace import ExecutionContext, Message, ToolCall, Trace
    from karat.model.verdict import CaseStatus, CheckResult, Group, Status, Verdict
    from karat.results import RunResult
    from karat.session import RunOptions

_HOMES = {
    "karat.api": ("ajudge", "aload_suite", "arun", "judge", "load_suite", "rescore", "run"),
    "karat.errors": ("KaratError", "SuiteError"),
    "karat.model.run": ("CaseRecord", "Summary"),
    "karat.model.suite": ("Case", "Suite"),
    "karat.model.trace": ("ExecutionContext", "Message", "ToolCall", "Trace"),
    "karat.model.verdict": ("CaseStatus", "CheckResult", "Group", "Status", "Verdict"),
    "karat.results": ("RunResult",),
    "karat.session": ("RunOptions",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Case",
    "CaseRecord",
    "CaseStatus",
    "CheckResult",
    "ExecutionContext",
    "Group",
    "KaratError",
    "Message",
    "RunOptions",
    "RunResult",
    "Status",
    "Suite",
    "SuiteError",
    "Summary",
    "ToolCall",
    "Trace",
    "Verdict",
    "__version__",
    "ajudge",
    "aload_suite",
    "arun",
    "judge",
    "load_suite",
    "rescore",
    "run",
]


if not TYPE_CHECKING:  # a type checker knows the names above, and should not take just any

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module 'karat' has no attribute {name!r}")
        return getattr(import_module(_HOME[name]), name)
