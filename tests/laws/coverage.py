"""What a law ran over, and what it is not true of, with the reason; printed at the end of `pytest tests/laws`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

LAW = "law"
"""The user property of a test report that holds the line of a law."""


@dataclass
class Coverage:
    """What one law was tried on, where it was broken, and its exceptions by name, each with the reason."""

    law: int
    says: str
    checks: Collection[str] = ()
    formats: Collection[str] = ()
    dialects: Collection[str] = ()
    doors: Collection[str] = ()
    matchers: Collection[str] = ()
    exceptions: Mapping[str, str] = field(default_factory=dict)
    tried: int = 0
    violations: list[str] = field(default_factory=list)

    def try_one(self, holds: bool, violation: str) -> None:
        self.tried += 1
        if not holds:
            self.violations.append(violation)

    def __str__(self) -> str:
        counts = {
            name: len(set(getattr(self, name))) for name in ("checks", "formats", "dialects", "doors", "matchers")
        }
        over = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        lines = [f"law {self.law:>2}: {self.says}: {self.tried:,} trials over {over or 'all'}"]
        return "\n".join([*lines, *(f"        not {name}: {why}" for name, why in self.exceptions.items())])


def require(coverage: Coverage, record: Callable[[str, object], None], *, most_shown: int = 12) -> None:
    """Fail with the violations of a law, else report what it ran over."""
    shown = "\n".join(sorted(set(coverage.violations))[:most_shown])
    assert not coverage.violations, f"law {coverage.law}: {len(coverage.violations)} of {coverage.tried}\n{shown}"
    assert coverage.tried, "a law that tried nothing holds nothing"
    record(LAW, str(coverage))
