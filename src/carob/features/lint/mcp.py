"""The tool of `carob mcp` that lints."""

from __future__ import annotations

from carob.features.lint.library import linter


def lint(suite: str) -> list[str]:
    """Look for expectations in a suite that are valid but probably prove less than they appear to.

    suite: a suite file, relative to the project.
    """
    report = linter()(suite)
    lines = [*map(str, report.smells), *(f"suggestion: {suggestion}" for suggestion in report.suggestions)]
    return lines or ["Nothing found."]
