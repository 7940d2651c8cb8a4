"""Prints what the laws ran over."""

from __future__ import annotations

import pytest

from cli.fixtures import carob
from features.watch.conftest import collector, start
from laws.coverage import LAW

__all__ = ["carob", "collector", "start"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = (*terminalreporter.stats.get("passed", ()), *terminalreporter.stats.get("xpassed", ()))
    lines = {text for report in reports for name, text in report.user_properties if name == LAW}
    if lines:
        terminalreporter.section("laws")
        terminalreporter.write_line("\n".join(sorted(lines)))
