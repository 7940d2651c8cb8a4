"""Which files a coding agent may name: those of the project, wherever links lead."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from carob.errors import UsageError
from carob.reports.artifacts import USUAL_DIR
from carob.suites.formats.catalog import marks_of_features
from carob.text.wording import quoted

LONGEST_PATH = 1000
LARGEST_SUITE = 16 << 20
LARGEST_JOURNAL = 512 << 20
MOST_FILES = 20_000
"""As many files of a project are looked at for suites."""
_SUFFIXES = (".yaml", ".yml", ".json", ".jsonl")
_MARKS = (b"carob:", b'"carob"', b"cases:", b'"cases"')
_HEAD = 4096
_OTHERS = {"node_modules", "__pycache__", USUAL_DIR.name, "dist", "build", "target", "venv", "results"}
_HIDDEN = {".claude"}
"""Hidden folders in which suites are looked for."""


class ProjectFolder:
    """The folder that a server is for. Nothing outside of it is read, however it is named."""

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))

    def suite(self, name: str) -> Path:
        return self._find_inside(name, LARGEST_SUITE)

    def journal(self, name: str) -> Path:
        return self._find_inside(name, LARGEST_JOURNAL)

    def _find_inside(self, name: str, largest: int) -> Path:
        """A regular file below the root, relative to it. Raises UsageError for anything else."""
        if len(name) > LONGEST_PATH or not name.isprintable() or not name.strip():
            raise UsageError("this is not a file name.", where=quoted(name), slug="bad-path")
        full = Path(os.path.realpath(self.root / name))
        if not full.is_relative_to(self.root):
            fix = "Name a file of the project, relative to its folder."
            raise UsageError("this file is outside the project.", where=quoted(name), fix=fix, slug="outside")
        try:
            about = full.stat()
        except OSError:
            fix = "list_suites shows the files of the project."
            raise UsageError("no such file.", where=quoted(name), fix=fix, slug="missing-file") from None
        if not stat.S_ISREG(about.st_mode):
            raise UsageError("this is not a regular file.", where=quoted(name), slug="not-a-file")
        if about.st_size > largest:
            raise UsageError(f"is larger than {largest >> 20} MiB.", where=quoted(name), slug="too-large")
        return full.relative_to(self.root)

    def find_suites(self) -> Iterator[tuple[Path, bool]]:
        """Files that may be suites, relative to the root, and whether they look like suites of ours."""
        marks = marks_of_features()
        for file in islice(self._files(), MOST_FILES):
            if file.suffix in _SUFFIXES and (head := self._read_head(file)):
                is_ours = any(mark in head for mark in _MARKS)
                if is_ours or any(mark in head for mark in marks):
                    yield file.relative_to(self.root), is_ours

    def _files(self) -> Iterator[Path]:
        for folder, below, names in os.walk(self.root):
            below[:] = sorted(
                folder_name
                for folder_name in below
                if folder_name not in _OTHERS and (folder_name[0] != "." or folder_name in _HIDDEN)
            )
            yield from (Path(folder, name) for name in sorted(names) if name.isprintable())

    def _read_head(self, file: Path) -> bytes:
        try:
            self._find_inside(str(file), LARGEST_SUITE)
            with file.open("rb") as opened:
                return opened.read(_HEAD)
        except (OSError, UsageError):
            return b""
