"""The workspace of one case: its folders, the environment of its agent, and what is put in front of its command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

from carob.errors import ConfigError
from carob.evidence.process_log import CALLS, DATAGRAMS
from carob.features.coding.workspaces.snapshot import Snapshot, remove_folder, take_snapshot
from carob.system import locks, process_tree
from carob.system.portable import FOLDER, NO_LINK, is_linux, own_user
from carob.targets.workspace_settings import WorkspaceSettings
from carob.text.words import PUBLISHED

PREFIX = "carob-workspace-"
MARK = "CAROB_WORKSPACE"
"""The variable by which a process is known to belong to a workspace."""
SUPERVISOR = str(Path(__file__).with_name("supervise.py"))
ARGUMENTS = 131_072
"""So many characters of each argument of a command are noted."""
INSTALL = "apt-get install {0} (dnf install {0}, pacman -S {0})"
MOST_KEPT = 50
"""So many workspaces of failed cases are kept on a machine, until somebody removes them."""
_FOLDER = os.O_RDONLY | FOLDER | NO_LINK
XDG = ("config", "data", "state", "runtime")


class CaseWorkspace:
    """A folder with the copy, HOME and TMPDIR of one run of a case, and Carob's notes next to them."""

    def __init__(self, settings: WorkspaceSettings) -> None:
        self._settings = settings
        self.root, self._lock = _make_locked_folder()
        self.folder, self.home = self.root / "work", self.root / "home"
        self.tmp, self.notes, self.before = self.root / "tmp", self.root / "notes", self.root / "before"
        for place in (self.home, self.tmp, self.notes, self.before, self.root / "cache"):
            place.mkdir()
        for name in XDG:
            (self.root / "xdg" / name).mkdir(parents=True, mode=0o700)
        self.process_log = self.notes / "processes"
        self.home_before: Snapshot | None = None
        self._wants_processes = self._wants_datagrams = False

    def watch_processes(self, *, datagrams: bool) -> None:
        """Let what the agent starts be noted."""
        self._wants_processes, self._wants_datagrams = True, datagrams

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """What the agent gets: the published variables, those that the configuration names, and its own folders."""
        passed_on = (*PUBLISHED.entries("passed_on_variables"), *self._settings.environment)
        kept = {
            name: value
            for name, value in os.environ.items()
            if any(fnmatchcase(name, pattern) for pattern in passed_on)
        }
        own = {
            "HOME": str(self.home),
            "TMPDIR": str(self.tmp),
            "XDG_CACHE_HOME": str(self.root / "cache"),
            **{f"XDG_{name.upper()}_HOME": str(self.root / "xdg" / name) for name in XDG[:3]},
            "XDG_RUNTIME_DIR": str(self.root / "xdg" / "runtime"),
            "PWD": str(self.folder),
            "UV_USE_IO_URING": "0",
        }
        return {**kept, **own, **(extra or {}), MARK: str(self.root)}

    def argv(self, argv: Sequence[str], *, watched: bool = True) -> list[str]:
        """The command with what goes in front of it: the supervisor, the sandbox, and what notes its processes."""
        if watched and self.home_before is None:
            self.home_before = take_snapshot(self.home)
        limits = (self._settings.max_mb, self._settings.max_files, self._settings.max_processes)
        supervisor = [sys.executable, "-I", "-S", SUPERVISOR, str(self.notes), str(self.root), *map(str, limits)]
        strace = self._strace() if watched and self._wants_processes else []
        return [*supervisor, *self._sandbox(argv), *strace, *argv]

    def why_stopped(self) -> str:
        """Which limit the agent went over; empty if none."""
        with suppress(OSError):
            return (self.notes / "stopped").read_text()
        return ""

    def end_processes(self) -> int:
        """Kill whatever of the agent is left, wherever it went; how many there were."""
        return process_tree.kill_marked(f"{MARK}={self.root}".encode())

    def remove(self) -> None:
        remove_folder(self.root)
        self._let_go()

    def keep(self) -> bool:
        """Leave the folder for people to look at; not if as many as are allowed are kept already."""
        if sum(1 for _ in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/kept")) >= MOST_KEPT:
            return False
        (self.root / "kept").touch()
        self._let_go()
        return True

    def _let_go(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def places(self) -> Iterator[tuple[str, str]]:
        """Folders of the agent's own, each with what paths in it begin with in evidence; empty: they do not count."""
        yield str(self.folder), "./"
        yield str(self.home), "~/"
        for name in ("tmp", "cache", "xdg"):
            yield str(self.root / name), ""
        if self._settings.sandbox:
            yield "/tmp", ""

    def _strace(self) -> list[str]:
        calls = ",".join(f"?{call}" for call in (*CALLS, *(DATAGRAMS if self._wants_datagrams else ())))
        output = ["-e", f"trace={calls}", "-e", "signal=none", "-o", str(self.process_log)]
        return ["strace", "-DDD", "-f", "-y", "-q", "-ttt", "--seccomp-bpf", "-s", str(ARGUMENTS), *output, "--"]

    def _sandbox(self, argv: Sequence[str]) -> list[str]:
        """What lets writes reach the agent's own folders alone; its own program is seen in a /tmp of its own too."""
        if not self._settings.sandbox:
            return []
        binds = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", str(self.tmp), "/tmp"]
        for folder in dict.fromkeys(str(Path(word).parent) for word in argv if word.startswith("/tmp/")):
            binds += ["--ro-bind-try", folder, folder]
        own = ["--bind", str(self.root), str(self.root)]
        return ["bwrap", "--die-with-parent", *binds, *own, "--chdir", str(self.folder), "--"]


def _make_locked_folder() -> tuple[Path, int]:
    """A folder that this process holds the lock of, and that lock, which goes with the process."""
    while True:
        root = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
        with suppress(FileNotFoundError):  # another process took it for left over before it was locked
            lock = os.open(root, _FOLDER)
            locks.lock(lock)
            if root.exists():
                return root, lock
            os.close(lock)


def remove_left_over() -> int:
    """Remove the workspaces, whole or not, that no process holds the lock of. How many there were."""
    return sum(map(_remove_unowned, Path(tempfile.gettempdir()).glob(f"{PREFIX}*")))


def _remove_unowned(place: Path) -> bool:
    lock = -1
    try:
        lock = os.open(place, _FOLDER)
        if os.fstat(lock).st_uid != own_user() or (place / "kept").exists():
            return False
        locks.lock(lock, wait=False)
        process_tree.kill_marked(f"{MARK}={place.resolve()}".encode())
        remove_folder(place)
        return True
    except OSError:
        return False  # it is in use, gone, or not ours
    finally:
        if lock >= 0:
            os.close(lock)


@lru_cache(maxsize=1)
def why_no_processes() -> str:
    """Why the processes of an agent cannot be noted on this machine, and what helps; empty if they can."""
    if not is_linux():
        return "processes are noted by strace, which is only there on Linux; use `log` and `files`"
    if shutil.which("strace") is None:
        return f"strace is not installed, by which processes are noted: {INSTALL.format('strace')}"
    tried = _try(["strace", "-f", "--seccomp-bpf", "-o", "/dev/null", "-e", "trace=execve", "--", "true"])
    return f"strace cannot note processes here: {tried}. In a container, allow it SYS_PTRACE" if tried else ""


def require_sandbox(where: str) -> None:
    """Raise ConfigError where there is no bubblewrap, or it may not make sandboxes."""
    if shutil.which("bwrap") is None:
        fix = (
            f"{INSTALL.format('bubblewrap')}, or leave `sandbox` out: then writes outside are reported, not prevented."
        )
        raise ConfigError("bubblewrap is not installed.", where=where, fix=fix, slug="no-sandbox")
    if tried := _try(["bwrap", "--ro-bind", "/", "/", "--proc", "/proc", "--", "true"]):
        fix = "Allow user namespaces here, or leave `sandbox` out."
        raise ConfigError(f"bubblewrap cannot make a sandbox here: {tried}.", where=where, fix=fix, slug="no-sandbox")


def _try(argv: list[str]) -> str:
    """What a command says that does not work; empty if it does."""
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return "" if done.returncode == 0 else (said[-1] if said else f"exit status {done.returncode}")
