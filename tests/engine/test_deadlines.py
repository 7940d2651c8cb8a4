"""Cases that overrun, crash or block: the guilty one is an ERROR with what was seen of it, the others are judged."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from carob.engine.events import CaseFinished, CaseStarted, Event
from carob.errors import ConfigError
from carob.model.run import CaseRecord

from .support import (
    AGENTS,
    Started,
    carried_out,
    case,
    journals,
    kind,
    records,
    statuses,
    suite_of,
    target,
    write_suite,
)

PASSED = "PASS"
HOW = ("sync", "async")


OVERRUNS = {
    "sleep sync": "took longer than 1 s",
    "sleep async": "took longer than 1 s",
    "spin sync": "took longer than 1 s",
    "spin async": "blocked the event loop",
    "deaf async": "ignored its cancellation",
    "late async": "took longer than 1 s",
}
"""How a case is late, and what is said of it."""


async def test_a_case_that_overruns_keeps_what_was_seen_of_it(tmp_path: Path) -> None:
    found = await carried_out(tmp_path, [*OVERRUNS, "answer sync"], timeout=1.0)
    *late, after = found.values()
    for record, said in zip(late, OVERRUNS.values(), strict=True):
        overran(record, said)
    assert kind(after) == PASSED


async def test_a_case_that_blocks_and_is_late_keeps_what_was_seen_of_it(tmp_path: Path) -> None:
    found = await carried_out(tmp_path, ["blocks async", "answer sync"], timeout=0.7)
    late, after = found.values()
    overran(late, "took longer than 0.7 s")
    assert kind(after) == PASSED


def overran(record: CaseRecord, said: str) -> None:
    assert kind(record) == "timeout"
    assert record.trace.error is not None
    assert said in record.trace.error.message
    assert [call.name for call in record.trace.tool_calls] == ["lookup"]


@pytest.mark.parametrize("prompt", [pytest.param("regex sync", marks=pytest.mark.thorough), "lock async"])
async def test_code_that_keeps_pythons_lock_is_killed(tmp_path: Path, prompt: str) -> None:
    found = await carried_out(tmp_path, [prompt, "answer sync"], timeout=1.0)
    stuck, after = found.values()
    assert kind(stuck) == "timeout"
    assert stuck.trace.error is not None
    assert "its process did not answer" in stuck.trace.error.message
    assert stuck.trace.why_unobserved("tools")
    assert kind(after) == PASSED


GUILTY = {
    "exit sync": "agent",
    "segfault async": "agent",
    "group async": "agent",
    "later sync": "agent",
    "close async": "agent",
    "spin async": "timeout",
    "spin sync": "timeout",
    "lock sync": "timeout",
    "deaf async": "timeout",
    "sleep sync": "timeout",
}
"""What ends, blocks or outlasts a worker, and the error that it is."""


@pytest.mark.thorough
@pytest.mark.parametrize(("prompt", "error"), GUILTY.items())
async def test_only_the_guilty_case_is_an_error(tmp_path: Path, prompt: str, error: str) -> None:
    prompts = [
        "wait sync",
        "wait async",
        prompt,
        "answer async",
        "wrong sync",
        "wait async",
        "wait sync",
        "answer sync",
    ]
    found = await carried_out(tmp_path, prompts, timeout=2.0, concurrency=4)
    kinds = [kind(record) for record in found.values()]
    assert kinds == [PASSED, PASSED, error, PASSED, "FAIL", PASSED, PASSED, PASSED]


async def test_only_the_guilty_are_errors_where_there_are_many(tmp_path: Path) -> None:
    mixed = [prompt for guilty in GUILTY for prompt in (guilty, "answer async", "wait sync", "wrong sync")]
    found = await carried_out(tmp_path, mixed, timeout=2.0, concurrency=4)
    kinds = [kind(record) for record in found.values()]
    assert kinds == [one for error in GUILTY.values() for one in (error, PASSED, PASSED, "FAIL")]


@pytest.mark.parametrize("workers", [0, 1], ids=["inline", "worker"])
async def test_whatever_an_agent_raises_is_its_error_at_once(tmp_path: Path, workers: int) -> None:
    prompts = [f"{what} {how}" for what in ("stop", "generator", "cancel", "leave", "several") for how in HOW]
    found = await carried_out(tmp_path, [*prompts, "answer async"], workers=workers, timeout=60.0)
    *broken, after = found.values()
    assert [kind(record) for record in broken] == ["agent"] * 10
    assert all(record.duration_ms < 10_000 for record in broken)
    assert "Stop: enough" in str(broken[0].trace.error)
    assert kind(after) == PASSED


async def test_innocent_cases_outlive_the_event_loop_of_their_worker(tmp_path: Path) -> None:
    """One ends the loop, one ignores that it is torn down; the third is neither."""
    found = await carried_out(tmp_path, ["rest async", "deaf async", "beside async"], concurrency=3, timeout=1.5)
    assert [kind(record) for record in found.values()] == [PASSED, "timeout", "agent"]


def test_an_agent_that_ends_carobs_own_process_does_not_end_it_well(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, ["answer sync", "beside async"])
    options = ("--target", target("agent"), "--workers", 0, "--results-dir", "out")
    with Started("run", suite, *options, cwd=tmp_path) as run:
        code, _, err = run.ended()
    assert code == 3
    assert "carob: SystemExit: 0 ended the run, outside its cases" in err


async def test_who_crashes_alone_is_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others were sent ahead, and answers before it were not yet sent back."""
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    prompts = ["answer sync"] * 60 + ["exit sync"] + ["answer sync"] * 9 + ["exit async"]
    found = await carried_out(tmp_path, prompts)
    kinds = [kind(record) for record in found.values()]
    assert kinds == [PASSED] * 60 + ["agent"] + [PASSED] * 9 + ["agent"]
    calls = Counter((tmp_path / "calls").read_text().split())
    assert (calls["060-exit"], calls["070-exit"]) == (1, 1)


async def test_who_overruns_alone_is_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    found = await carried_out(tmp_path, ["spin sync"], concurrency=8, timeout=1.0)
    assert [kind(record) for record in found.values()] == ["timeout"]
    assert (tmp_path / "calls").read_text().split() == ["000-spin"]


async def test_cases_that_block_the_event_loop_are_not_late_for_each_other(tmp_path: Path) -> None:
    """Alone, each takes a second of the five that it has; side by side, each waits for all the others."""
    found = await carried_out(tmp_path, ["blocks async"] * 7, timeout=5.0, concurrency=7)
    assert [kind(record) for record in found.values()] == [PASSED] * 7


async def test_a_turn_has_a_time_of_its_own(tmp_path: Path) -> None:
    found = await carried_out(tmp_path, ["sleep sync", "sleep async", "answer sync"], config={"turn_timeout": 0.5})
    assert [kind(record) for record in found.values()] == ["timeout", "timeout", PASSED]
    first = next(iter(found.values()))
    assert first.trace.error is not None
    assert "the turn took longer than 0.5 s" in first.trace.error.message
    assert [call.name for call in first.trace.tool_calls] == ["lookup"]


async def test_a_case_is_begun_before_it_is_finished_and_finished_once(tmp_path: Path) -> None:
    begun: list[str] = []
    finished: list[str] = []

    def heard(event: Event) -> None:
        if isinstance(event, CaseStarted):
            begun.append(event.item.case.id)
        elif isinstance(event, CaseFinished):
            assert event.item.case.id in begun
            finished.append(event.item.case.id)

    prompts = ["answer async"] * 150 + ["exit sync"] + ["answer sync"] * 49
    found = await carried_out(tmp_path, prompts, workers=2, concurrency=2, listeners=[heard])
    assert Counter(finished) == Counter(list(found))
    assert sum(kind(record) == PASSED for record in found.values()) == 199


async def test_no_more_are_running_than_may_be(tmp_path: Path) -> None:
    """Cases are sent ahead, but they count as running only when they are."""
    running: set[str] = set()
    most = 0

    def heard(event: Event) -> None:
        nonlocal most
        if isinstance(event, CaseStarted):
            running.add(event.item.case.id)
            most = max(most, len(running))
        elif isinstance(event, CaseFinished):
            running.discard(event.item.case.id)

    await carried_out(tmp_path, ["answer async"] * 200 + ["wait sync"] * 20, concurrency=3, listeners=[heard])
    assert most == 3


async def test_a_huge_answer_comes_through(tmp_path: Path) -> None:
    found = await carried_out(tmp_path, ["huge sync", "answer sync"])
    huge, after = found.values()
    assert huge.trace.cuts["final_message"].size == 20_000_005
    assert [kind(huge), kind(after)] == [PASSED, PASSED]


async def test_what_an_agent_printed_is_told_of_a_crash(tmp_path: Path) -> None:
    found = await carried_out(tmp_path, ["exit sync"])
    (crashed,) = found.values()
    assert crashed.trace.error is not None
    assert crashed.trace.error.message == "the agent's process ended: exit code 3"


async def test_processes_of_an_agent_end_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One shares the worker's files, so that the channel to the runner stays open; one has a session of its own."""
    monkeypatch.setenv("PIDS", str(tmp_path / "pids"))
    found = await carried_out(tmp_path, ["fork sync", "answer sync"])
    assert [kind(record) for record in found.values()] == ["agent", PASSED]
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == 2
    assert [pid for pid in pids if os.path.exists(f"/proc/{pid}")] == []


@pytest.mark.parametrize(("how", "workers"), [("sync", 1), ("async", 0)])
def test_an_agent_that_comes_back_in_two_processes(tmp_path: Path, how: str, workers: int) -> None:
    """The second is ended there and then: it would carry out the other cases too, and answer for this one."""
    suite = suite_of(tmp_path, [f"twice {how}", "answer sync", f"twice {how}", f"once {how}"])
    options = ("--target", target("agent"), "--workers", workers, "--results-dir", "out")
    with Started("run", suite, *options, cwd=tmp_path) as run:
        code, out, _ = run.ended(within=60)
        assert run.left_behind() == []
    assert code == 0, out
    (journal,) = journals(tmp_path / "out")
    assert list(statuses(journal).values()) == [PASSED] * 4


BROKEN_AT_IMPORT = "import os\nprint('no licence', flush=True)\nos._exit(7)\n"
OPENS_ONCE = f"""
import pathlib, sys
opened = pathlib.Path("opened")
if opened.exists():
    raise RuntimeError("the port is taken")
opened.touch()
sys.path.insert(0, {str(AGENTS.parent)!r})
from agents import agent
"""


def test_a_worker_that_dies_while_it_opens_its_target(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(BROKEN_AT_IMPORT)
    suite = suite_of(tmp_path, ["answer sync"])
    with Started("run", suite, "--target", "python:broken:agent", cwd=tmp_path) as run:
        code, _, err = run.ended()
        assert run.left_behind() == []
    assert code == 4
    assert "the target did not open: the agent's process ended: exit code 7. no licence" in err
    assert not (tmp_path / "carob-results").exists()


def test_a_target_that_does_not_open_again_ends_the_run(tmp_path: Path) -> None:
    """Cases that could not be run are no errors of the agent: they are missing, and can be resumed."""
    (tmp_path / "once.py").write_text(OPENS_ONCE)
    suite = suite_of(tmp_path, ["pause sync", "exit sync", "pause sync", "pause sync"])
    options = ("--results-dir", tmp_path / "out")
    with Started("run", suite, "--target", "python:once:agent", *options, cwd=tmp_path) as run:
        code, out, err = run.ended()
        assert run.left_behind() == []
    assert code == 3, err
    assert "INCOMPLETE: 2 of 4 cases finished (no further case could be run" in out
    assert "the port is taken" in out
    (journal,) = journals(tmp_path / "out")
    assert statuses(journal) == {"000-pause": "PASS", "001-exit": "ERROR"}


async def test_names_in_the_users_folder_do_not_hide_pythons_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("types.py", "signal.py", "msgspec.py"):
        (tmp_path / name).write_text("raise RuntimeError('not this one')\n")
    monkeypatch.chdir(tmp_path)
    found = await carried_out(tmp_path, ["answer sync"])
    assert [kind(record) for record in found.values()] == [PASSED]


async def test_a_system_without_room_for_another_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    before = set(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(subprocess, "Popen", full)
    with pytest.raises(ConfigError, match="a worker process could not be started: Resource temporarily unavailable"):
        await carried_out(tmp_path, ["answer sync"])
    assert set(os.listdir("/proc/self/fd")) <= before


async def test_a_target_that_cannot_be_opened_is_told_before_anything_is_run(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no 'nobody'"):
        await carried_out(tmp_path, ["answer sync"], function="nobody")
    assert not (tmp_path / "out").exists()


async def test_cases_that_waited_behind_one_that_overran_keep_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    await carried_out(tmp_path, ["answer async"] * 10 + ["sleep async"] + ["answer async"] * 10, timeout=1.0)
    called = (tmp_path / "calls").read_text().split()
    assert called == sorted(called)
    assert len(called) == 21


LATE = """
import asyncio, time

async def agent(prompt, conversation):
    if prompt == "answer":
        return "fine"
    conversation.tool_call("lookup")
    if prompt == "blocks":
        time.sleep(1.0)
        return "fine"
    try:
        await asyncio.sleep(600)
    except asyncio.CancelledError as error:
        if prompt == "swallows":
            return "fine"
        raise RuntimeError("the request was aborted") from error
"""


@pytest.mark.parametrize(("limit", "workers"), [("turn_timeout", 1), ("timeout", 0)])
def test_late_is_late_whatever_the_agent_makes_of_it(tmp_path: Path, limit: str, workers: int) -> None:
    (tmp_path / "late.py").write_text(LATE)
    (tmp_path / "carob.toml").write_text(f'[targets.late]\nuse = "python:late:agent"\n{limit} = 0.7\n')
    cases = [case(prompt, prompt) for prompt in ("blocks", "swallows", "wraps", "answer")]
    prepared = {**case("prepared", "answer"), "setup_prompts": ["blocks"]}
    suite = write_suite(tmp_path / "suite.json", [prepared, *cases])
    options = ("--target", "late", "--workers", workers, "--results-dir", "out")
    with Started("run", suite, *options, cwd=tmp_path) as run:
        assert run.ended()[0] == 1
    (journal,) = journals(tmp_path / "out")
    late_setup, *late, answered = records(journal).values()
    assert [kind(record) for record in (late_setup, *late)] == ["timeout"] * 4
    what = "turn" if limit == "turn_timeout" else "case"
    for record in late:
        assert record.trace.error is not None
        assert record.trace.error.message.startswith(f"the {what} took longer than 0.7 s")
        assert [call.name for call in record.trace.tool_calls] == ["lookup"]
    assert kind(answered) == PASSED


@pytest.mark.skipif(sys.platform != "linux", reason="a supervisor adopts processes on Linux only")
def test_a_worker_that_leaves_its_group_is_ended_too(tmp_path: Path) -> None:
    (tmp_path / "leaving.py").write_text(
        "import ctypes, os\n"
        "def agent(prompt):\n"
        "    if prompt == 'leave':\n"
        "        os.setpgid(0, os.getppid())\n"
        "        ctypes.PyDLL(None).sleep(3600)  # and keeps Python's lock\n"
        "    return 'fine'\n"
    )
    suite = suite_of(tmp_path, ["leave", "answer"])
    options = ("--target", "python:leaving:agent", "--timeout", 1, "--results-dir", "out")
    with Started("run", suite, *options, cwd=tmp_path) as run:
        assert run.ended()[0] == 1
        assert run.left_behind() == []
    (journal,) = journals(tmp_path / "out")
    assert list(statuses(journal).values()) == ["ERROR", PASSED]
