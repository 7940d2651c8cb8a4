"""What `strace` wrote down → the programs that ran, with their own exit codes, what they wrote, and whom they called.

Lines are those of `strace -f -y -ttt`: `PID TIME call(arguments) = result`. A call that another process interrupts is
in two pieces. With `-y`, an open file is shown with the path that the kernel knows, whatever links led there.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterable
from contextlib import suppress

from carob.model.workspace import TMPDIR, FileWrite, HostContact, ProcessRun
from carob.system.process_tree import KILL

CALLS = (
    *("execve", "execveat", "clone", "clone3", "fork", "vfork", "chdir", "fchdir", "connect", "io_uring_setup"),
    *("open", "openat", "openat2", "creat", "truncate", "rename", "renameat", "renameat2", "unlink", "unlinkat"),
    *("rmdir", "mkdir", "mkdirat", "link", "linkat", "symlink", "symlinkat", "mknod", "mknodat"),
    *("chmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchownat"),
)
DATAGRAMS = ("sendto", "sendmsg", "sendmmsg")
"""Calls by which a host is reached without a connection."""
MOST_RUNS = 5_000
MOST_WRITES = 5_000
MOST_CONTACTS = 1_000
LONGEST_ARGV = 1 << 13
TORN = "the end of the agent was not noted, so what came before it may be missing too"
IO_URING = "a process used io_uring, by which files can be written unnoticed"

_LINE = re.compile(r"(\d+) +(\d+\.\d+) (.*)", re.DOTALL)
_CALL = re.compile(r"(\w+)\((.*)\) += (-?\d+|\?)(?:<(.*)>)?(?: .*)?$", re.DOTALL)
_RESUMED = re.compile(r"<\.\.\. (\w+) resumed>(.*)", re.DOTALL)
_UNFINISHED = " <unfinished ...>"
_ENDED = re.compile(r"\+\+\+ (?:exited with (\d+)|killed by (\w+)(?: \(core dumped\))?) \+\+\+")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"(\.\.\.)?', re.DOTALL)
_FOLDER = re.compile(r"(?:AT_FDCWD|\d+)<([^<>]*)>")
_PORT = re.compile(r"sin6?_port=htons\((\d+)\)")
_ADDRESS = re.compile(r'inet_(?:addr\(|pton\(AF_INET6, )"([0-9a-fA-F:.]+)"')
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "v": "\v", "f": "\f", "a": "\a", "b": "\b", "e": "\x1b"}
_FOR_WRITING = re.compile(r"\bO_(?:WRONLY|RDWR|CREAT|TRUNC)\b")
_FORKS = frozenset(("clone", "clone3", "fork", "vfork"))
_OPENS = frozenset(("open", "openat", "openat2", "creat"))
_ONE_PATH = frozenset(CALLS[CALLS.index("unlink") :]) | {"truncate"}
_TWO_PATHS = frozenset(("rename", "renameat", "renameat2", "link", "linkat"))
_LINKS = frozenset(("symlink", "symlinkat"))

Place = Callable[[str], str]
"""An absolute path as evidence names it; empty for one that is of no interest."""


class ProcessLog:
    """Takes the lines of one run of an agent in order."""

    def __init__(self, folder: str, place: Place, prompt: str = "") -> None:
        self._place = place
        self._prompt = prompt
        self._folder = folder
        self._runs: list[dict[str, object]] = []
        self._run_of: dict[int, int] = {}
        """By process or thread: the index of the program that it runs."""
        self._cwd: dict[int, str] = {}
        self._pending: dict[int, str] = {}
        self._orphans: dict[int, list[int]] = {}
        """By a process whose parent is not known yet: its runs."""
        self._root: int | None = None
        self._writes: dict[tuple[str, int], float] = {}
        self._contacts: dict[tuple[str, int, int], float] = {}
        self._links: dict[str, str] = {}
        self.why_incomplete = ""

    @property
    def processes(self) -> tuple[ProcessRun, ...]:
        return tuple(ProcessRun(**run | self._places_of(run)) for run in self._runs)  # type: ignore[arg-type]

    def _places_of(self, run: dict[str, object]) -> dict[str, str]:
        """Where it began and its program is, as far as that is of interest."""
        folder, program = str(run["folder"] or self._folder), os.path.normpath(str(run["program"]))
        is_inside = folder == self._folder or folder.startswith(f"{self._folder}/")
        program = os.path.join(folder, program)
        place = self._place(program) or ("" if program.startswith("/proc/") else TMPDIR)
        return {"folder": "" if is_inside else folder, "program": "" if place.startswith("/") else place}

    @property
    def why_torn(self) -> str:
        """Why the end of it may be missing: that of the agent itself is. Empty where it is there."""
        has_end = any(run["pid"] == self._root and run.get("exit_code") is not None for run in self._runs)
        return "" if has_end else TORN

    @property
    def writes(self) -> tuple[FileWrite, ...]:
        return tuple(FileWrite(path, run, at) for (path, run), at in self._writes.items())

    @property
    def contacts(self) -> tuple[HostContact, ...]:
        return tuple(HostContact(address, port, run, at) for (address, port, run), at in self._contacts.items())

    def read(self, lines: Iterable[str]) -> None:
        for line in lines:
            if "O_RDONLY" in line and "O_CREAT" not in line and "<unfinished" not in line:
                continue  # nearly all of them
            if match := _LINE.match(line.rstrip("\n")):
                self._take(int(match[1]), float(match[2]), match[3])

    def _take(self, pid: int, at: float, text: str) -> None:
        if self._root is None:
            self._root = pid
        if ended := _ENDED.match(text):
            self._end(pid, at, int(ended[1]) if ended[1] else -_signal_number(ended[2]))
            return
        if resumed := _RESUMED.match(text):
            text = self._pending.pop(pid, f"{resumed[1]}(") + resumed[2]
        elif text.endswith(_UNFINISHED):
            self._pending[pid] = text.removesuffix(_UNFINISHED)
            return
        if (call := _CALL.match(text)) and call[3] != "?":
            self._call(pid, at, call[1], call[2], int(call[3]), call[4] or "")

    def _call(self, pid: int, at: float, name: str, arguments: str, result: int, opened: str) -> None:
        if name == "connect" or name in DATAGRAMS:
            self._contact(pid, at, arguments)
        elif result < 0:
            return
        elif name in _FORKS:
            self._fork(pid, result)
        elif name in ("execve", "execveat"):
            self._start(pid, at, arguments)
        elif name in _OPENS:
            if name == "creat" or _FOR_WRITING.search(arguments):
                self._write(pid, at, _unescape(opened).removesuffix(" (deleted)"))
        elif name in ("chdir", "fchdir"):
            self._change_folder(pid, name, arguments)
        elif name == "io_uring_setup":
            self.why_incomplete = self.why_incomplete or IO_URING
        else:
            self._change_paths(pid, at, name, arguments)

    def _fork(self, pid: int, child: int) -> None:
        run = self._run_of.get(pid)
        folder = self._cwd.get(pid, self._folder)
        for index in self._orphans.pop(child, ()):
            self._runs[index] |= {"parent": run, "folder": self._runs[index]["folder"] or folder}
        if run is not None:
            self._run_of.setdefault(child, run)
        self._cwd.setdefault(child, folder)

    def _start(self, pid: int, at: float, arguments: str) -> None:
        if len(self._runs) >= MOST_RUNS:
            self.why_incomplete = self.why_incomplete or f"only the first {MOST_RUNS:,} programs were noted"
            return
        before = self._run_of.get(pid)
        index = len(self._runs)
        if before is not None and self._runs[before]["pid"] == pid:
            self._runs[before] |= {"replaced": True, "ended_at": at}
        elif before is None and pid != self._root:
            self._orphans.setdefault(pid, []).append(index)
        path, argv = _STRING.search(arguments), _read_argv(arguments)
        program = _unescape(path[1]) if path else ""
        if argv and not _is_called(argv[0], program):
            argv = (program, *argv[1:])
        if '"...' in arguments[: LONGEST_ARGV + 1024]:
            self.why_incomplete = self.why_incomplete or "the arguments of a command were too long to be noted"
        is_own = pid == self._root or (len(self._prompt) > 3 and self._prompt in argv)
        places = {"program": program, "folder": self._cwd.get(pid)}
        self._runs.append({"argv": argv, "pid": pid, "parent": before, "started_at": at, "own": is_own} | places)
        self._run_of[pid] = index

    def _end(self, pid: int, at: float, code: int) -> None:
        index = self._run_of.pop(pid, None)
        self._pending.pop(pid, None)
        # A thread, or a copy of its parent that became no other program, ends no program.
        while index is not None and self._runs[index]["pid"] == pid:
            self._runs[index] |= {"exit_code": code, "ended_at": self._runs[index].get("ended_at") or at}
            parent = self._runs[index]["parent"]
            is_same = isinstance(parent, int) and self._runs[parent].get("replaced") is True
            index = parent if is_same and isinstance(parent, int) else None

    def _change_folder(self, pid: int, name: str, arguments: str) -> None:
        if name == "fchdir" and (folder := _FOLDER.match(arguments)):
            self._cwd[pid] = _unescape(folder[1])
        elif path := _STRING.match(arguments):
            self._cwd[pid] = self._resolve(pid, _unescape(path[1]), "")

    def _change_paths(self, pid: int, at: float, name: str, arguments: str) -> None:
        paths = [_unescape(string[1]) for string in _STRING.finditer(arguments)]
        folders = [_unescape(folder[1]) for folder in _FOLDER.finditer(arguments)]
        if name in _LINKS and len(paths) > 1:
            link = self._resolve(pid, paths[1], folders[0] if folders else "")
            self._links[link] = os.path.normpath(os.path.join(os.path.dirname(link), paths[0]))
            self._write(pid, at, link, follow=False)
        elif name in _TWO_PATHS:
            for number, path in enumerate(paths[:2]):
                folder = folders[number] if number < len(folders) else ""
                self._write(pid, at, self._resolve(pid, path, folder), follow=False)
        elif name in _ONE_PATH and paths:
            self._write(pid, at, self._resolve(pid, paths[0], folders[0] if folders else ""), follow=False)

    def _resolve(self, pid: int, path: str, folder: str) -> str:
        base = folder or self._cwd.get(pid, self._folder)
        return os.path.normpath(os.path.join(base, path))

    def _write(self, pid: int, at: float, path: str, *, follow: bool = True) -> None:
        """`follow`: links on the way are resolved already; otherwise those that were made here are."""
        if not follow:
            folder, name = os.path.split(path)
            for link, target in self._links.items():
                if folder == link or folder.startswith(f"{link}/"):
                    folder = target + folder[len(link) :]
            path = os.path.join(folder, name)
        place = self._place(path) if path.startswith("/") else ""
        if not place:
            return
        if len(self._writes) >= MOST_WRITES:
            self.why_incomplete = self.why_incomplete or f"only the first {MOST_WRITES:,} writes were noted"
            return
        self._writes[place, self._run_of.get(pid, 0)] = at

    def _contact(self, pid: int, at: float, arguments: str) -> None:
        port, address = _PORT.search(arguments), _ADDRESS.search(arguments)
        if port and address and len(self._contacts) < MOST_CONTACTS:
            self._contacts.setdefault((address[1], int(port[1]), self._run_of.get(pid, 0)), at)


def read_process_log(file: os.PathLike[str] | str, log: ProcessLog) -> None:
    """Read a whole log; what is torn at its end is left out."""
    with open(file, encoding="utf-8", errors="surrogateescape") as lines:
        log.read(lines)


def _read_argv(arguments: str) -> tuple[str, ...]:
    """The words of `"/bin/sh", ["sh", "-c", "x"], 0x7f… /* 3 vars */`."""
    start = arguments.find("[")
    if start < 0:
        return ()
    words, at = [], start + 1
    while match := _STRING.match(arguments, at):
        words.append(_unescape(match[1]))
        at = match.end()
        if arguments[at : at + 2] != ", ":
            break
        at += 2
    return tuple(words)


def _is_called(name: str, program: str) -> bool:
    """Whether a process is called like its program, so that its name can be believed; a login shell has a `-`."""
    called = os.path.basename(name).removeprefix("-")
    return not program or program.startswith("/proc/") or called == os.path.basename(program)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text.encode("utf-8", "replace").decode() if not text.isascii() else text

    def plain(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 8))
        return chr(int(match[2], 16)) if match[2] else _PLAIN.get(match[3], match[3])

    return _ESCAPE.sub(plain, text).encode("latin-1", "replace").decode("utf-8", "replace")


def _signal_number(name: str) -> int:
    with suppress(AttributeError):
        return int(getattr(signal, name))
    return KILL
