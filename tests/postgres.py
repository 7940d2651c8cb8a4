"""A throw-away PostgreSQL cluster for tests."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_PROGRAMS = ("initdb", "pg_ctl", "createuser", "createdb")
_DEBIAN_BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


def _postgres_binaries() -> Path:
    on_path = shutil.which("initdb")
    folders = ([Path(on_path).resolve().parent] if on_path else []) + _DEBIAN_BINARIES
    for folder in folders:
        if all((folder / program).exists() for program in _PROGRAMS):
            return folder
    pytest.skip("PostgreSQL's programs are missing: apt install postgresql")


def _as_server_user() -> list[str]:
    """PostgreSQL refuses to run as root: then its own user runs it."""
    if os.geteuid() != 0:
        return []
    if shutil.which("runuser") is None:
        pytest.skip("running as root and runuser is missing, by which PostgreSQL's own user would run the server")
    return ["runuser", "-u", "postgres", "--"]


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A running server with a database that an ordinary user owns, reached by a socket in its own folder."""
    binaries, as_user = _postgres_binaries(), _as_server_user()
    folder = Path(tempfile.mkdtemp(prefix="dyno-pg-"))
    if as_user:
        shutil.chown(folder, "postgres")

    def run(program: str, *arguments: str) -> None:
        command = [*as_user, str(binaries / program), *arguments]
        subprocess.run(command, check=True, capture_output=True, cwd=folder, timeout=120)

    data = str(folder / "data")
    options = f"-c listen_addresses='' -k {folder} -c fsync=off -c max_connections=50"
    try:
        run("initdb", "-D", data, "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C")
        run("pg_ctl", "-D", data, "-l", str(folder / "log"), "-o", options, "-w", "start")
        try:
            run("createuser", "-h", str(folder), "-U", "postgres", "dyno")
            run("createdb", "-h", str(folder), "-U", "postgres", "-O", "dyno", "lab")
            yield f"postgresql://dyno@/lab?host={folder}"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str | None:
    """What `DYNO_DATABASE_URL` would say: nothing for SQLite."""
    if request.param == "sqlite":
        return None
    url: str = request.getfixturevalue("postgres_url")
    return url
