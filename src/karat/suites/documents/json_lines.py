"""JSON objects, one a line, whatever the suffix of the file says."""

from __future__ import annotations

import jiter

from karat.suites.diagnostics import Json, Path, PathDiagnostic, Place, Tree
from karat.suites.documents.json_places import JsonPlaces
from karat.suites.documents.source import utf8


class JsonLinesDocument:
    """A list of the values of all lines; the first step of a path is the number of a value among them."""

    def __init__(self, data: bytes) -> None:
        self.rows: list[Json] = []
        self.tree: Tree = self.rows
        self.diagnostics: list[PathDiagnostic] = []
        self._lines: list[tuple[int, bytes]] = []
        for number, line in enumerate(utf8(data).splitlines(), 1):
            if not line.strip():
                continue
            self._lines.append((number, line))
            try:
                value = jiter.from_json(line, allow_inf_nan=False, catch_duplicate_keys=True)
            except ValueError as error:
                why = str(error).partition(" at line")[0]
                self.diagnostics.append(
                    PathDiagnostic((), f"the line is not JSON: {why}.", "syntax", place=(number, 1))
                )
                value = None
            self.rows.append(value)

    def place(self, path: Path, *, key: bool = False) -> Place:
        if not path or not isinstance(path[0], int) or path[0] >= len(self._lines):
            return 1, 1
        number, line = self._lines[path[0]]
        return number, JsonPlaces(line).place(path[1:], key=key)[1]
