"""For tests of your own checks: sample traces, and the examples of a check as one assertion. It needs no pytest."""

from __future__ import annotations

from collections.abc import Callable

from karat.checks.base import Check
from karat.checks.catalog import why_not_a_check
from karat.checks.external import from_function
from karat.checks.sample_traces import UNSEEN_TELEMETRY as UNSEEN_TELEMETRY
from karat.checks.sample_traces import UNSEEN_TOOLS as UNSEEN_TOOLS
from karat.checks.sample_traces import calls as calls
from karat.checks.sample_traces import logs as logs
from karat.checks.sample_traces import says as says
from karat.checks.sample_traces import shows as shows
from karat.errors import UsageError
from karat.scoring.proofs import prove_check

__all__ = ["UNSEEN_TELEMETRY", "UNSEEN_TOOLS", "assert_examples", "calls", "logs", "says", "shows"]


def assert_examples(check: type[Check] | Callable[..., object]) -> None:
    """Assert that each example of a check, a class or a function, comes out as it says, and that one fails."""
    __tracebackhide__ = True  # pytest shows the line of the test, not this one
    cls = check if isinstance(check, type) else from_function(getattr(check, "__name__", "check"), check)
    if reason := why_not_a_check(cls):
        raise UsageError(f"not a check: {reason}", fix="Fix it; see docs/extending.md.", slug="bad-check")
    wrong = [proof for proof in prove_check(cls) if not proof.holds]
    if wrong:
        raise AssertionError(
            "\n".join(f"{proof.what}: expected {proof.expected}, found {proof.found}" for proof in wrong)
        )
