"""Programs that write, are killed or meet a full disk, and must keep what they acknowledged.

`python -m laws.writers SUBJECT HOW SEED COUNT FOLDER`: what was lost is on stderr, and the exit code is then 1.
"""

from __future__ import annotations

import hashlib
import os
import random
import resource
import select
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import carob
from benchmarks.watch import POLICY, make_turn
from carob.criteria.files import add_line, read_files
from carob.criteria.identity import criterion_id
from carob.criteria.records import PersonLabel
from carob.evidence.spans.otlp import SpanBatch
from carob.features.coding.workspaces.case_workspace import PREFIX, CaseWorkspace, remove_left_over
from carob.features.guard.journal import GuardHeader, GuardJournal, read_guard_journal
from carob.features.guard.store import GuardStore
from carob.features.watch.session import ConversationWatch, WatchOptions
from carob.journal.append_log import LogLimits, list_files
from carob.plugins.project import Project
from carob.rules.events import ConversationEvent, Facts
from carob.targets.workspace_settings import WorkspaceSettings
from features.watch.watched import UNASKED, as_request

AT_ONCE = 2
PLENTY = 10**6
"""Each process writes numbers of its own."""
FAILURES = (OSError, sqlite3.Error, carob.CarobError)


class Writer(Protocol):
    """Something that keeps numbers in a folder."""

    def __init__(self, folder: Path) -> None: ...

    def write(self, number: int) -> None:
        """Keep a number; it is acknowledged when this returns, and is not if it raises."""

    @staticmethod
    def read(folder: Path) -> Counter[int] | None:
        """The numbers that are kept, each as often as it is there; None where none is to be."""


def user(number: int, index: int = 0) -> ConversationEvent:
    return ConversationEvent(kind="user", index=index, text=f"{number} " + "x" * (number * 7919 % 9_000))


class OfGuardJournal:
    """Several processes write the same files, which are full soon."""

    def __init__(self, folder: Path) -> None:
        self.journal = GuardJournal(
            folder / "d.jsonl", GuardHeader(1, "p", ()), secrets={}, limits=LogLimits(100_000, 1 << 30)
        )

    def write(self, number: int) -> None:
        self.journal.write("c", user(number))

    @staticmethod
    def read(folder: Path) -> Counter[int]:
        lines = read_guard_journal(folder / "d.jsonl")
        return Counter(int(line.event.text.split()[0]) for line in lines if line.event is not None)


class OfGuardStore:
    """Several processes add events to one conversation."""

    def __init__(self, folder: Path) -> None:
        self.store = GuardStore(folder / "s.sqlite")
        self.last = -1

    def write(self, number: int) -> None:
        self.store.begin("c", Facts())
        with self.store.writing("c", self.last) as added:
            last = added[-1].index if added else self.last
            self.store.append("c", user(number, last + 1))
        self.last = last + 1

    @staticmethod
    def read(folder: Path) -> Counter[int]:
        with GuardStore(folder / "s.sqlite").writing("c", -1) as events:
            assert [event.index for event in events] == [*range(len(events))]
            return Counter(int(event.text.split()[0]) for event in events)


class OfWatch:
    """Spans are acknowledged when the store has them; the journal must then have their conversation, once."""

    now = 1_900_000_000.0

    def __init__(self, folder: Path) -> None:
        (folder / "policy.carob.yaml").write_text(POLICY)
        options = WatchOptions(folder=folder / "watch", port=0, quiet=0.5)
        until = time.monotonic() + 60
        while True:
            try:
                self.watch = ConversationWatch(
                    [folder / "policy.carob.yaml"], None, options, Project(), environ={}, clock=self.clock
                )
                self.watch.open()
                break
            except carob.CarobError:  # one process at a time
                if time.monotonic() > until:
                    raise
                time.sleep(0.01)
        self.watch._journal._most = 40

    def clock(self) -> float:
        return self.now

    def write(self, number: int) -> None:
        spans = make_turn(UNASKED + 70 * number, 0, f"s-{number}")
        self.watch.store.accept(SpanBatch(as_request(spans), json=True).records())
        OfWatch.now += 1
        with suppress(*FAILURES):  # it is judged when it can be
            self.watch.judge_due()

    @staticmethod
    def read(folder: Path) -> Counter[int]:
        last = OfWatch(folder)
        for _ in range(5):
            OfWatch.now += 100
            while last.watch.judge_due():
                pass
        last.watch.close()
        files = [path for path in list_files(folder / "watch" / "watch.jsonl") if path.exists()]
        ids = [record.case.id for path in files for record in carob.Journal(path).records()]
        return Counter(int(name.split()[0].removeprefix("s-")) for name in ids)


class OfLabels:
    """Several people label at once; a line is as long as their notes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "labels"

    def write(self, number: int) -> None:
        about: dict[str, Any] = {"by": "ann", "at": "2026-11-18T00:00:00Z", "blind": True, "queue": "own"}
        evidence = hashlib.sha256(b"%d" % number).hexdigest()
        note = "x" * (number * 7919 % 9_000)
        label = PersonLabel(criterion=criterion_id("is polite"), text="is polite", evidence=evidence,
                            verdict="met", case=f"{number}", note=note, **about)  # fmt: skip
        add_line(self.folder, label)

    @staticmethod
    def read(folder: Path) -> Counter[int]:
        return Counter(int(label.case) for label in read_files(folder / "labels").labels)


class OfWorkspaces:
    """Nothing is kept: what a killed process made is gone after the next start, and what another one uses is not."""

    def __init__(self, folder: Path) -> None:
        self.removed = remove_left_over()

    def write(self, number: int) -> None:
        workspace = CaseWorkspace(WorkspaceSettings(folder="."))
        for place in range(number % 40):
            (workspace.home / f"{place}").write_text("x")
        if not all((workspace.home / f"{place}").exists() for place in range(number % 40)):
            os._exit(3)
        workspace.remove()

    @staticmethod
    def read(folder: Path) -> None:
        remove_left_over()
        left = [*Path(tempfile.gettempdir()).glob(f"{PREFIX}*")]
        assert not left, left


WRITERS: dict[str, type[Writer]] = {
    "guard-journal": OfGuardJournal,
    "guard-store": OfGuardStore,
    "watch": OfWatch,
    "labels": OfLabels,
    "workspaces": OfWorkspaces,
}


def start(writer: type[Writer], folder: Path, first: int, others: list[int]) -> tuple[int, int]:
    """A process that writes numbers until it is killed; its id, and where it says which it has written.

    Who inherits no pipe of the others ends with this process, because then nothing reads its own.
    """
    reads, writes = os.pipe()
    if child := os.fork():
        os.close(writes)
        return child, reads
    try:
        for pipe in (reads, *others):
            os.close(pipe)
        it = writer(folder)
        for number in count(first):
            it.write(number)
            os.write(writes, b"%d\n" % number)
    except BaseException as error:  # noqa: BLE001 - nothing of the process that was forked may go on here
        print(f"a writer ended by itself: {error!r}", file=sys.stderr)
    finally:
        os._exit(4)


def read_pipe(descriptor: int) -> Iterator[int]:
    with open(descriptor, "rb") as pipe:
        yield from (int(line) for line in pipe if line.endswith(b"\n"))


def kill_writers(writer: type[Writer], folder: Path, chance: random.Random, kills: int) -> set[int]:
    """Start writers, kill each at some moment; what they acknowledged."""
    acknowledged: set[int] = set()
    running: list[tuple[int, int]] = []
    for number in range(kills):
        running.append(start(writer, folder, number * PLENTY, [pipe for _, pipe in running]))
        if chance.random() < 0.7:
            select.select([running[0][1]], [], [], 30.0)
        time.sleep(chance.uniform(0.0, 0.15))
        while len(running) >= AT_ONCE or (running and number == kills - 1):
            child, pipe = running.pop(0)
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            assert os.WIFSIGNALED(status), f"a writer ended by itself: {status}"
            acknowledged |= {*read_pipe(pipe)}
    return acknowledged


def fill_disk(writer: type[Writer], folder: Path, chance: random.Random, times: int) -> set[int]:
    """Write on while files may not grow beyond some size, and go on once they may; what was acknowledged."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    acknowledged: set[int] = set()
    it, numbers = writer(folder), count(1)
    for _ in range(times):
        largest = max((path.stat().st_size for path in folder.rglob("*") if path.is_file()), default=0)
        resource.setrlimit(resource.RLIMIT_FSIZE, (max(largest + chance.randint(-2_000, 80_000), 1), hard))
        for number in (next(numbers) for _ in range(6)):
            with suppress(*FAILURES):
                it.write(number)
                acknowledged.add(number)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        if chance.random() < 0.3:
            it.write(number := next(numbers))
            acknowledged.add(number)
    if isinstance(it, OfWatch):
        it.watch.close()
    return acknowledged


def main(name: str, how: str, seed: str, times: str, place: str) -> int:
    folder = Path(place)
    tempfile.tempdir = str(folder / "tmp")
    (folder / "tmp").mkdir()
    act = {"kill": kill_writers, "full": fill_disk}[how]
    acknowledged = act(WRITERS[name], folder, random.Random(int(seed)), int(times))
    kept = WRITERS[name].read(folder) or Counter(acknowledged if name == "workspaces" else ())
    lost = acknowledged - kept.keys()
    twice = [number for number, often in kept.items() if often > 1]
    print(f"{len(acknowledged)} acknowledged, {len(lost)} lost, {len(twice)} kept twice")
    shutil.rmtree(folder / "tmp")
    return 1 if lost or twice else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
