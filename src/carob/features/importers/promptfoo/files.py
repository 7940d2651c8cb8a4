"""The files that a configuration names with `file://`: tests, prompts, values, read as far as they are data."""

from __future__ import annotations

import csv
import glob
import io
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from carob.features.importers.promptfoo.templates import as_json
from carob.suites.diagnostics import Path, PathDiagnostic, RefusedError
from carob.suites.documents.source import utf8
from carob.suites.formats.base import SuiteFile
from carob.text.wording import quoted

SCHEME = "file://"
CODE = (".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".py", ".rb", ".go")
BINARY = (".jpg", ".jpeg", ".png", ".gif", ".webp", ".svg", ".mp3", ".wav", ".mp4", ".pdf", ".xlsx", ".docx")
TREES = (".yaml", ".yml", ".json")
PROMPT_FILES = (*CODE, *TREES, ".txt", ".md", ".csv", ".jsonl", ".j2")
LONGEST_NAME = 1024
MOST_FILES = 10_000
MOST_ROWS = 1_000_000
DEEPEST = 20


class Entry(NamedTuple):
    """A value of the configuration, where it names it, and which other file and line it came from."""

    value: Any
    path: Path
    source: str = ""

    def problem(self, message: str, slug: str = "invalid-value", *steps: str | int) -> PathDiagnostic:
        """Something wrong with it, at its place, with the other file that it is in."""
        within = f"{self.source}: " if self.source else ""
        path = self.path if self.source else (*self.path, *steps)
        return PathDiagnostic(path, f"{within}{message}", slug)


class NotTextError(Exception):
    """A file that is code, or a picture or sound: what it gives is not a text that is known here."""


class NamedFiles:
    """Reads the files that one configuration names. None is read within itself."""

    def __init__(self, file: SuiteFile) -> None:
        self._file = file
        self._open: list[str] = []

    def names(self, reference: str, path: Path) -> list[str]:
        """The files that a reference means, several if it is a pattern. Raises RefusedError if there is none."""
        name = reference.removeprefix(SCHEME)
        if not any(sign in name for sign in "*?["):
            return [name]
        self._file.refuse_outside(name, path)
        matches = sorted(glob.glob(name, root_dir=str(self._file.folder), recursive=True))
        if not matches:
            raise RefusedError(PathDiagnostic(path, f"no file matches {quoted(name)}. Check the path.", "missing-file"))
        if len(matches) > MOST_FILES:
            message = f"{len(matches):,} files match {quoted(name)}. Narrow the pattern."
            raise RefusedError(PathDiagnostic(path, message, "too-many-files"))
        return matches

    def prompt_names(self, text: str, path: Path) -> list[str]:
        """The files that a prompt names; none if it is the prompt itself. Raises RefusedError for one that is missing.

        As in promptfoo a name needs no `file://`. It is one if it is that of a file or has the suffix of one.
        """
        if text.startswith(SCHEME):
            return self.names(text, path)
        if any(sign in text for sign in ("\n", "\0", "{{")) or len(text) > LONGEST_NAME:
            return []
        if any(sign in text for sign in "*?["):
            return sorted(glob.glob(text, root_dir=str(self._file.folder), recursive=True))
        is_name = PurePath(text.split(":")[0]).suffix.lower() in PROMPT_FILES and not any(map(str.isspace, text))
        return [text] if is_name or (self._file.folder / text).is_file() else []

    def prompts(self, name: str, path: Path) -> list[tuple[str, str]]:
        """The prompts of a file, each with its label, if the file has one."""
        content = self.text(name, path)
        suffix = PurePath(name).suffix.lower()
        if suffix == ".csv":
            return self._prompts_of_table(name, content, path)
        if suffix in (".yaml", ".yml"):
            return [(json.dumps(self.tree(name, path)), "")]
        parts = [content]
        if suffix == ".txt":
            parts = re.split(r"^[ \t]*---[ \t]*\r?$", content, flags=re.MULTILINE)
        elif suffix == ".jsonl":
            parts = content.splitlines()
        return [(part.strip(), "") for part in parts if part.strip()]

    def _prompts_of_table(self, name: str, content: str, path: Path) -> list[tuple[str, str]]:
        """A prompt a line, or those of the column `prompt` with their labels."""
        if "," not in content:
            lines = [line for line in content.splitlines() if line.strip()]
            return [(line, "") for line in lines[lines[:1] != [] and lines[0].strip().lower() == "prompt" :]]
        rows = [row for row, _ in self.rows(name, path)]
        if not any("prompt" in row for row in rows):
            message = f"{quoted(name)} has no column `prompt`. Add it."
            raise RefusedError(PathDiagnostic(path, message, "bad-table"))
        return [(row["prompt"].strip(), row.get("label", "").strip()) for row in rows if row.get("prompt", "").strip()]

    def text(self, name: str, path: Path) -> str:
        """The text of a file. Raises RefusedError, or NotTextError for code, pictures and the like."""
        suffix = PurePath(name.split(":")[0]).suffix.lower()
        if suffix in CODE or suffix in BINARY:
            raise NotTextError(f"{'code' if suffix in CODE else 'a file that is not text'} ({name})")
        data = self._file.read_other(name, path)
        try:
            return utf8(data).decode() if data.strip() else ""
        except RefusedError as refused:
            raise refused.in_file(self._path(name)) from None

    def tree(self, name: str, path: Path) -> Any:
        """The values of a JSON or YAML file."""
        self.text(name, path)
        inner = SuiteFile(self._file.read_other(name, path), self._path(name))
        try:
            tree = inner.tree
            if isinstance(tree, Sequence) and not isinstance(tree, str):  # a list of JSON is parsed entry by entry
                tree = list(tree)
            if inner.document.diagnostics:
                raise RefusedError(*inner.document.diagnostics)
        except RefusedError as refused:
            raise refused.in_file(self._path(name)) from None
        return tree

    def value(self, reference: str, path: Path) -> Any:
        """What a value that is a reference holds: a tree, the rows of a table, or a text."""
        name = self.names(reference, path)[0]
        suffix = PurePath(name).suffix.lower()
        if suffix in TREES:
            return self.tree(name, path)
        return [row for row, _ in self.rows(name, path)] if suffix == ".csv" else self.text(name, path).rstrip("\n")

    def variable(self, name: str, path: Path) -> str:
        """What a variable is that names a file: its text without outer white space, and YAML as JSON."""
        if PurePath(name).suffix.lower() in (".yaml", ".yml"):
            return as_json(self.tree(name, path))
        return self.text(name, path).strip()

    def entries(self, value: Any, path: Path, source: str = "") -> Iterator[Entry]:
        """The entries of a list of tests, with those of the files that it names in their place."""
        if isinstance(value, dict) and isinstance(value.get("path"), str) and "assert" not in value:
            value = value["path"]
        if isinstance(value, str):
            yield from self._read_named(value, path)
        elif isinstance(value, list):
            for index, below in enumerate(value):
                at = path if source else (*path, index)
                if isinstance(below, str | list):
                    yield from self.entries(below, at, source)
                else:
                    yield Entry(below, at, f"{source}[{index}]" if source else "")
        elif value is not None:
            yield Entry(value, path, source)

    def _read_named(self, reference: str, path: Path) -> Iterator[Entry]:
        if "://" in reference and not reference.startswith(SCHEME):
            message = f"{quoted(reference)} is not here. Save it as a .csv or .yaml file next to the configuration."
            raise RefusedError(PathDiagnostic(path, message, "not-a-file"))
        for name in self.names(reference, path):
            real = os.path.normpath(name)
            if real in self._open or len(self._open) >= DEEPEST:
                chain = " → ".join([*self._open, real])
                raise RefusedError(PathDiagnostic(path, f"the files name each other: {chain}.", "circular-files"))
            self._open.append(real)
            try:
                suffix = PurePath(name).suffix.lower()
                if suffix in (".csv", ".jsonl"):
                    for row, line in self.rows(name, path):
                        yield Entry(row, path, f"{name}:{line}")
                elif suffix in TREES:
                    yield from self.entries(self.tree(name, path), path, name)
                else:
                    self.text(name, path)
                    message = f"{quoted(name)} contains no tests. Name a .csv, .jsonl, .json or .yaml file."
                    raise RefusedError(PathDiagnostic(path, message, "bad-file"))
            finally:
                self._open.pop()

    def rows(self, name: str, path: Path) -> Iterator[tuple[Any, int]]:
        """The rows of a table and their lines: those of CSV as texts by column, those of JSONL as they are."""
        text = self.text(name, path)
        if PurePath(name).suffix.lower() == ".jsonl":
            for number, row in enumerate(text.split("\n"), 1):
                if row.strip():
                    yield self._json(row, name, number, path), number
            return
        reader = csv.reader(io.StringIO(text, newline=""))
        try:
            columns = [cell.strip() for cell in next(reader, [])]
            line = reader.line_num + 1
            for count, cells in enumerate(reader, 1):
                if count > MOST_ROWS:
                    raise csv.Error(f"it has more than {MOST_ROWS:,} rows: split it into several suites")
                if any(cells):
                    if len(cells) > len(columns):
                        raise csv.Error(f"the line has {len(cells)} cells, the table has {len(columns)} columns")
                    yield dict(zip(columns, cells, strict=False)), line
                line = reader.line_num + 1
        except csv.Error as error:
            place = (max(reader.line_num, 1), 1)
            raise RefusedError(
                PathDiagnostic(path, f"not a table: {error}.", "bad-table", place=place, file=self._path(name))
            ) from None

    def _json(self, line: str, name: str, number: int, path: Path) -> Any:
        try:
            return json.loads(line)
        except (ValueError, RecursionError) as error:
            message = f"the line is not JSON: {str(error)[:100]}."
            place = (number, 1)
            raise RefusedError(PathDiagnostic(path, message, "bad-table", place=place, file=self._path(name))) from None

    def _path(self, name: str) -> str:
        return str(self._file.folder / name)


def split_columns(row: Mapping[str, str]) -> dict[str, Any]:
    """A row of a CSV file as a test: `__expected`, `__metadata:name`, `__threshold`; other columns are variables."""
    test: dict[str, Any] = {"vars": {}, "assert": [], "metadata": {}, "options": {}}
    thresholds: dict[int, float] = {}
    for name, cell in row.items():
        if name.startswith("__expected"):
            if cell.strip():
                test["assert"].append(cell.strip())
        elif name.startswith("__metadata:"):
            test["metadata"][name.removeprefix("__metadata:").removesuffix("[]")] = cell
        elif name.startswith("__config:"):
            _, expected, _ = (*name.split(":"), "", "")[:3]
            number = expected.removeprefix("__expected") or "1"
            thresholds[int(number) - 1 if number.isdigit() else 0] = _number(cell)
        elif name in ("__prefix", "__suffix"):
            test["options"][name[2:]] = cell
        elif name in ("__description", "__metric", "__providerOutput"):
            test[name[2:]] = cell
        elif name == "__threshold":
            if cell.strip():
                test["threshold"] = _number(cell)
        else:
            test["vars"][name] = cell
    test["thresholds"] = thresholds
    return test


def _number(cell: str) -> Any:
    try:
        return float(cell)
    except ValueError:
        return cell
