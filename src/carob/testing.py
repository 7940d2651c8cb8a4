"""For tests of your own checks: sample traces, and the examples of a check as one assertion. It needs no pytest."""

from __future__ import annotations

from collections.abc import Callable

from carob.checks.base import Check
from carob.checks.catalog import why_not_a_check
from carob.checks.external import from_function
from carob.checks.sample_traces import UNSEEN_TELEMETRY as UNSEEN_TELEMETRY
from carob.checks.sample_traces import UNSEEN_TOOLS as UNSEEN_TOOLS
from carob.checks.sample_traces import calls as calls
from carob.checks.sample_traces import logs as logs
from carob.checks.sample_traces import says as says
from carob.checks.sample_traces import shows as shows
from carob.errors import UsageError
from carob.scoring.proofs import prove_check

__all__ = ["UNSEEN_TELEMETRY", "UNSEEN_TOOLS", "assert_examples", "calls", "logs", "says", "shows"]


def assert_examples(check: type[Check] | Callable[..., object]) -> None:
    """Assert that each example of a check, a class or a function, comes out as it says, and that one fails."""
    __tracebackhide__ = True  # pytest shows the line of the test, not this one
    cls = check if isinstance(check, type) else from_function(getattr(check, "__name__", "check"), check)
    if reason := why_not_a_check(cls):
        raise UsageError(f"not a check: {reason}", fix="Fix it; see `carob help extending`.", slug="bad-check")
    wrong = [proof for proof in prove_check(cls) if not proof.holds]
    if wrong:
        raise AssertionError(
            "\n".join(f"{proof.what}: expected {proof.expected}, found {proof.found}" for proof in wrong)
        )
