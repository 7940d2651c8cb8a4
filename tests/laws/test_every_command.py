"""Whatever a command writes or shows: no secret that the project names, inert in its format, for its owner alone."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from pyarrow import parquet

import carob
from carob.cli.main import own_commands
from carob.evidence.exports.files import find_files
from journal.test_planted_secrets import given_away, strings
from laws.every_command import FEW, ROWS, TEXTS, Ran, lay_out, run_all
from laws.inert import FORMATS, on_screen

pytestmark = pytest.mark.limit(900)


class Written(NamedTuple):
    """What all commands left."""

    folder: Path
    ran: list[Ran]
    files: list[Path]


@pytest.fixture(
    scope="module", params=[pytest.param(FEW, id="few"), pytest.param(TEXTS, id="all", marks=pytest.mark.thorough)]
)
def written(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Written:
    folder = tmp_path_factory.mktemp("every") / "shop"
    folder.mkdir()
    lay_out(folder, [TEXTS[name] for name in request.param])
    given = {path for path in folder.rglob("*") if path.is_file()}
    ran = run_all(folder)
    files = [
        path for path in folder.rglob("*") if path.is_file() and path not in given and "__pycache__" not in path.parts
    ]
    return Written(folder, ran, sorted(files))


def texts_of(path: Path) -> Iterator[str]:
    """A file as it is, and what is in it for those who read its format."""
    data = path.read_bytes()
    yield data.decode("utf-8", "replace")
    if path.suffix == ".parquet":
        yield from strings(json.loads(json.dumps(parquet.read_table(path).to_pydict(), default=str)))
    elif path.suffix in (".json", ".jsonl", ".ndjson"):
        lines = data.decode().rstrip("\n").split("\n" if path.suffix != ".json" else "\0")
        yield from (text for line in lines for text in strings(json.loads(line)))


def test_every_command_has_a_row() -> None:
    lines = [" ".join(row["run"]) for row in ROWS]
    names = [row.name for row in own_commands()]
    assert [name for name in names if not any(line.startswith(name) for line in lines)] == []


def test_every_command_did_its_work(written: Written) -> None:
    failed = [ran for ran in written.ran if "Traceback" in ran.screen or ran.code in (3, 99)]
    assert [(ran.line, ran.code, ran.screen[-2000:]) for ran in failed] == []
    assert {path.suffix for path in written.files} | {""} == FORMATS.keys()


def test_no_screen_gives_a_secret_away(written: Written) -> None:
    assert [(ran.line, found) for ran in written.ran if (found := given_away(ran.screen + ran.served))] == []


def test_no_file_gives_a_secret_away(written: Written) -> None:
    found = {str(path): given_away(text) for path in written.files for text in texts_of(path) if given_away(text)}
    assert found == {}


def test_every_file_is_for_its_owner_alone(written: Written) -> None:
    modes = {str(path): oct(stat.S_IMODE(path.stat().st_mode)) for path in written.files}
    assert {name: mode for name, mode in modes.items() if mode != "0o600"} == {}
    assert not [path for path in written.files if path.name.endswith(".part")]


def test_every_screen_is_inert(written: Written) -> None:
    assert {ran.line: found for ran in written.ran if (found := [*on_screen(ran.screen)])} == {}


def test_every_file_is_inert_for_those_who_read_its_format(written: Written) -> None:
    assert {path.suffix for path in written.files} <= FORMATS.keys()
    assert {str(path): found for path in written.files if (found := [*FORMATS[path.suffix](path)][:8])} == {}
    assert len([path for path in written.files if path.suffix == ".csv"]) >= 3


def test_every_suite_reads_back(written: Written) -> None:
    suites = [path for path in written.files if path.suffix == ".yaml"]
    assert len(suites) >= 4
    assert all(isinstance(yaml.safe_load(path.read_text()), dict) for path in suites)


TAKES_RECORDINGS: dict[str, Callable[[Path], object]] = {
    "check": lambda folder: carob.check_conversations(folder, folder / "calls.carob.yaml"),
    "draft": lambda folder: carob.draft(folder),
    "draft --rules": lambda folder: carob.draft_rules(folder),
    "read": lambda folder: list(carob.read_conversations(folder)),
}


@pytest.mark.parametrize("command", TAKES_RECORDINGS)
def test_a_folder_of_all_that_carob_writes_is_read(
    written: Written, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(written.folder)
    assert len(written.files) >= 50
    TAKES_RECORDINGS[command](written.folder)


def test_each_file_that_carob_writes_is_read_or_is_one_without_conversations(written: Written) -> None:
    kept = [path for path in written.files if path in map(Path, find_files(written.folder))]
    found = {str(path): list(carob.read_conversations(path)) for path in kept}
    assert len(found) >= 12
    unread = [(path, one.unread) for path, read in found.items() for one in read if one.unread]
    assert [path for path, _ in unread if "/checked" not in path] == []  # which keeps what check could not read
