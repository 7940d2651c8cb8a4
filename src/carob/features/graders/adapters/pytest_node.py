"""`pytest:tests/test_agent.py::test_cancels`: a test that takes a trace by one of its fixtures.

The test is collected once, with its own fixtures and conftest files, and run anew for each trace. The fixtures `trace`,
`messages`, `tool_calls` and the others that a Python grader may name are the trace's. A test that passes accepts, an
assertion that fails refuses, and any other exception is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from carob.errors import ConfigError
from carob.features.graders.adapters.base import Judge
from carob.features.graders.forms import PARTS, GraderInput

REFUSING = ("AssertionError", "Failed")
"""The exceptions by which a test says no: `assert` and `pytest.fail`."""


class BrokenTestError(Exception):
    """The test broke, so it says nothing of the trace."""


class _Plugin:
    """Gives the collected test to whoever asks, and the fixtures of the trace that is graded."""

    def __init__(self, serve: Callable[[Judge], None]) -> None:
        self._serve = serve
        self.given: GraderInput | None = None
        self._reports: list[tuple[str, str, str]] = []
        self.collected = 0

    def pytest_runtestloop(self, session: Any) -> bool:
        self.collected = len(session.items)
        if self.collected == 1:
            item = session.items[0]
            self._serve(lambda given: self._run(item, given))
        return True

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        if call.excinfo is not None:
            self._reports.append((call.when, call.excinfo.typename, str(call.excinfo.value)))

    def _run(self, item: Any, given: GraderInput) -> bool:
        self.given = given
        self._reports.clear()
        item.funcargs = {}
        item._initrequest()  # as plugins do that run a test again
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        broken = [report for report in self._reports if report[0] != "call" or report[1] not in REFUSING]
        if broken:
            when, kind, text = broken[0]
            raise BrokenTestError(f"{kind} in {when} of the test: {text}")
        return not self._reports


def _make_plugin(serve: Callable[[Judge], None]) -> _Plugin:
    """The plugin, with a fixture for each part of a trace. They belong to its class, where pytest looks for them."""
    import pytest

    def fixture_of(name: str) -> Any:
        @pytest.fixture(name=name)
        def part(self: _Plugin) -> object:
            assert self.given is not None
            return self.given.part(name)

        return part

    fixtures = {f"part_{name}": fixture_of(name) for name in PARTS}
    plugin: _Plugin = type("TracePlugin", (_Plugin,), fixtures)(serve)
    return plugin


def serve(name: str, root: Path, serve: Callable[[Judge], None]) -> None:
    """Collect the test, and let its runs be asked for until there is no more to ask."""
    import pytest

    plugin = _make_plugin(serve)
    code = pytest.main([name, f"--rootdir={root}", "-q", "-p", "no:cacheprovider"], plugins=[plugin])
    if plugin.collected != 1:
        what = (
            f"names {plugin.collected} tests" if plugin.collected else f"names no test (pytest ended with {int(code)})"
        )
        fix = "Name one test, as in pytest:tests/test_agent.py::test_cancels."
        raise ConfigError(f"'pytest:{name}' {what}.", fix=fix, slug="bad-grader")
