"""`--cpu-times`: where the processors' time went, at the end of a run: the files that took most, in children apart."""

from __future__ import annotations

import resource
from collections import Counter

import pytest

MOST = 10
"""Files that are listed, unless the option says how many."""

_SPENT = pytest.StashKey[tuple[float, float]]()
_OWN = pytest.StashKey[Counter[str]]()
_CHILDREN = pytest.StashKey[Counter[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "print the files, so many, whose tests took most of the processors"
    parser.addoption("--cpu-times", nargs="?", type=int, const=MOST, default=0, metavar="N", help=text)


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_SPENT] = _spent()
    config.stash[_OWN], config.stash[_CHILDREN] = Counter(), Counter()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> object:
    """Each report has what was spent since the one before it: a worker of xdist sends it on as it is."""
    report = yield
    before, now = item.config.stash[_SPENT], _spent()
    item.config.stash[_SPENT] = now
    report.cpu_times = [now[0] - before[0], now[1] - before[1]]
    return report


class _Sums:
    def __init__(self, config: pytest.Config) -> None:
        self._own, self._children = config.stash[_OWN], config.stash[_CHILDREN]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        own, children = report.cpu_times  # type: ignore[attr-defined]  # set above
        file = report.nodeid.partition("::")[0]
        self._own[file] += own
        self._children[file] += children


def pytest_sessionstart(session: pytest.Session) -> None:
    session.config.pluginmanager.register(_Sums(session.config))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    listed = config.getoption("cpu_times")
    if not listed:
        return
    own, children = config.stash[_OWN], config.stash[_CHILDREN]
    both = own + children
    terminalreporter.section("processor time")
    terminalreporter.write_line(
        f"{both.total():8.1f} s in tests, of which {children.total():.1f} s in their child processes"
    )
    for file, seconds in both.most_common(listed):
        terminalreporter.write_line(f"{seconds:8.1f} s {file} ({children[file]:.1f} s in children)")


def _spent() -> tuple[float, float]:
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime, children.ru_utime + children.ru_stime
