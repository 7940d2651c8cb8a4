"""Starting the viewer: a free port on this machine, a token, a browser, and a clean end."""

from __future__ import annotations

import errno
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from carob.criteria.records import why_not_a_person
from carob.errors import CarobError, UsageError
from carob.evidence.exports.guard_journal import GUARD_JOURNAL
from carob.evidence.exports.reading import name_format
from carob.journal.index import Index, cache_file
from carob.journal.reader import LONGEST_HEADER, read_header
from carob.plugins.features import find_service
from carob.plugins.project import Project
from carob.reports.artifacts import usual_results_dirs
from carob.system.loopback_auth import LOOPBACK, new_token

if TYPE_CHECKING:
    import uvicorn

Notify = Callable[[str], None]

RUN_FIRST = "Run a suite first: carob run SUITE. Or name the folder of its results."


def index_of(folders: Sequence[Path], environ: Mapping[str, str]) -> Index:
    """The index of some folders, kept where this user's caches are."""
    index = Index(folders, cache_file(folders, environ))
    index.refresh()
    if not index.runs():
        foreign = " The .jsonl files there are not journals." if index.invalid_files() else ""
        index.close()
        where = ", ".join(map(str, folders))
        fix = RUN_FIRST
        raise UsageError(f"no run found here.{foreign}", where=where, fix=fix, slug="no-runs")
    return index


def folders_of(path: Path | None, defaults: Sequence[Path]) -> tuple[list[Path], str]:
    """Which folders to show, and where to begin: a journal may be named instead of its folder."""
    if path is None:
        there = [folder for folder in defaults if folder.is_dir()]
        if not there:
            fix = RUN_FIRST
            where = ", ".join(map(str, defaults))
            raise UsageError("no folder of results found here.", where=where, fix=fix, slug="no-runs")
        return there, "/"
    if path.is_dir():
        return [path], "/"
    try:
        with path.open("rb") as file:
            read_header(file.readline(LONGEST_HEADER), str(path))
    except OSError as error:
        raise UsageError(
            f"it cannot be read: {error.strerror}.", where=str(path), fix=RUN_FIRST, slug="no-runs"
        ) from error
    return [path.parent], f"/run/{Index.key_of(path)}"


def bind_port(port: int) -> socket.socket:
    """A socket that listens on this machine alone; 0 is any port that is free."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
        listening.listen(64)
    except (OSError, OverflowError) as error:
        listening.close()
        is_in_use = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        why = "is in use" if is_in_use else f"cannot be used: {getattr(error, 'strerror', None) or error}"
        fix = "Choose another with --port, or --port 0 for any free port."
        raise UsageError(f"port {port} {why}.", fix=fix, slug="port") from error
    return listening


class ViewerServer:
    """A viewer that is ready to answer. `address` holds its token."""

    def __init__(self, server: uvicorn.Server, address: str, index: Index, listening: socket.socket) -> None:
        self._server = server
        self._index = index
        self.files: tempfile.TemporaryDirectory[str] | None = None
        """What it shows, where that was written for it alone; removed with it."""
        self._listening = listening
        self.address = address

    def run(self) -> None:
        """Answer until it is stopped."""
        try:
            self._server.run([self._listening])
        finally:
            self.close()

    def close(self) -> None:
        """Give back what it holds, also if it never ran."""
        self._listening.close()
        self._index.close()
        if self.files is not None:
            self.files.cleanup()

    def stop(self) -> None:
        self._server.should_exit = True

    def open_browser(self, notify: Notify) -> None:
        """Open a browser while the server runs, or say that none can be opened."""

        def attempt() -> None:
            try:
                opened = webbrowser.open(self.address)
            except (webbrowser.Error, OSError):
                opened = False
            if not opened:
                notify("no browser could be opened: open the address yourself")

        threading.Thread(target=attempt, daemon=True).start()


def viewer_of(
    path: Path | None, usual: Path, port: int, environ: Mapping[str, str], project: Project, person: str = ""
) -> ViewerServer:
    """A viewer over a folder or a journal, or where runs are usually kept; `person` may write in it."""
    if person and (problem := why_not_a_person(person)):
        raise UsageError(problem, fix="Give your name with --label.", slug="bad-name")
    if path is not None and path.is_file() and _is_guard_journal(path):
        return _view_guard(path, port, environ, project)
    folders, start = folders_of(path, list(dict.fromkeys((usual, *usual_results_dirs()))))
    listening = bind_port(port)
    try:
        return build_server(index_of(folders, environ), listening, project, start, person)
    except BaseException:
        listening.close()
        raise


def _is_guard_journal(path: Path) -> bool:
    """Whether a guard wrote this file."""
    try:
        return name_format(path) == GUARD_JOURNAL.name
    except CarobError:  # who reads it as what it is says what is wrong
        return False


def _view_guard(path: Path, port: int, environ: Mapping[str, str], project: Project) -> ViewerServer:
    """A viewer over the conversations of a guard, as they are now."""
    write_guard_run = find_service("guard_run")
    folder = tempfile.TemporaryDirectory(prefix="carob-view-")
    try:
        environ = {**environ, "XDG_CACHE_HOME": folder.name}
        viewer = viewer_of(write_guard_run(path, Path(folder.name)), Path(folder.name), port, environ, project)
    except BaseException:
        folder.cleanup()
        raise
    viewer.files = folder
    return viewer


def build_server(
    index: Index, listening: socket.socket, project: Project, start: str = "/", person: str = ""
) -> ViewerServer:
    """A viewer over an index, guarded by a token of its own."""
    import uvicorn  # a server takes time to load, which a folder without runs does not need

    from carob.features.viewer.app import application, pages_of_features

    token = new_token()
    port = int(listening.getsockname()[1])
    app = application(index, token, port, project, person)
    if person:
        written = next((page.address for page in pages_of_features() if page.writes), start)
        start = written + start.replace("/run/", "?run=").removeprefix("/")
    settings = uvicorn.Config(app, log_level="error", access_log=False, lifespan="off", server_header=False)
    return ViewerServer(uvicorn.Server(settings), f"http://{LOOPBACK}:{port}/{token}{start}", index, listening)
