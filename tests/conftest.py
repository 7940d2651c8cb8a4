"""What tests in several folders share."""

import gc
import os
from collections.abc import Generator
from itertools import groupby

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from packages import installs
from postgres import database_url, postgres_url
from recordings import recorded

__all__ = ["database_url", "installs", "postgres_url", "recorded"]

pytest_plugins = ["limits", "cpu_times", "pytester"]

# How long an example takes says how busy the machine is, and nothing else. The gate tries the same ones every time.
settings.register_profile(
    "gate", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True, max_examples=20
)
settings.register_profile("thorough", settings.get_profile("gate"), derandomize=False, max_examples=500)
settings.load_profile("gate")


@pytest.fixture(scope="session", autouse=True)
def _compiled_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Have Playwright's driver, which many tests start, compiled once for all of them."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    os.environ.setdefault("NODE_COMPILE_CACHE", str(shared / "node"))


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    """Keep the gate's examples the same whatever ran before.

    Hypothesis also tries the constants of all of our modules that the process has imported by then.
    """
    if settings().derandomize:
        providers._get_local_constants = Constants


LONG = (
    "tests/evals/", "tests/test_docs", "tests/features/viewer/", "tests/features/browser/", "tests/golden/",
    "tests/engine/",
    "tests/reports/html/", "tests/proxy/", "tests/conversations/", "tests/pytest_plugin/", "tests/examples/",
    "tests/library/test_projects", "tests/features/audit/test_shipped_suites", "tests/cli/test_help",
)  # fmt: skip
"""Begun first, so that no worker is left alone with them in the end."""


QUICK = (
    "tests/checks/", "tests/text/", "tests/matchers/", "tests/model/", "tests/suites/", "tests/scoring/",
    "tests/features/importers/", "tests/evidence/test_", "tests/seeds/", "tests/features/lint/", "tests/guards/",
    "tests/test_architecture", "tests/test_words",
)  # fmt: skip
"""What needs no process, browser or database, and little time: `make check` runs it."""
STARTS_PROCESSES = (
    "tests/seeds/test_runner", "tests/checks/test_code.py", "tests/features/lint/test_lint_cli.py::test_tools_of_a",
)  # fmt: skip
"""Some of them all the same: these are left to the gate."""


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    if item.nodeid.startswith(QUICK) and not item.nodeid.startswith(STARTS_PROCESSES):
        item.add_marker("quick")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deal out the files, the long ones first: workers begin with a stretch of the list each, and steal later."""
    workers: int = getattr(config, "workerinput", {}).get("workercount", 1)
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))
    files = [list(tests) for _, tests in groupby(items, key=lambda item: item.path)]
    items[:] = [test for first in range(workers) for tests in files[first::workers] for test in tests]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Ten thousand tests and what they import stay until the end: the collector need not look at them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
