"""What is wrong where, before it is known at which line that is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from carob.errors import Diagnostic
from carob.text.wording import shorten, visible

Path = tuple[str | int, ...]
Place = tuple[int, int]
Json = bool | int | float | str | None | list["Json"] | dict[str, "Json"]
Tree = Json | Sequence[Json] | dict[str, Json | Sequence[Json]]

MOST = 10_000
"""Problems reported of one file; a line counts the rest."""


class PathDiagnostic(NamedTuple):
    """One thing to tell of a path. `key`: of the name of the last step rather than of its value. `file`: if another."""

    path: Path
    message: str
    slug: str
    key: bool = False
    place: Place | None = None
    file: str = ""

    def under(self, *steps: str | int) -> PathDiagnostic:
        """The same, with a path from further up."""
        return self._replace(path=(*steps, *self.path))


class Document(Protocol):
    """A file read into plain values, which still knows the place of each.

    `tree` may hold the cases as a sequence that parses each when it is asked for; then `diagnostics` grow as they are.
    """

    tree: Tree
    diagnostics: list[PathDiagnostic]

    def place(self, path: Path, *, key: bool = False) -> Place:
        """The line and column of the value at a path, or of its key; of the nearest value around it if it is absent."""
        ...


class RefusedError(Exception):
    """A file that gives no tree at all."""

    def __init__(self, *diagnostics: PathDiagnostic) -> None:
        super().__init__(diagnostics)
        self.diagnostics = diagnostics

    def in_file(self, file: str) -> RefusedError:
        """The same of another file than the suite."""
        return RefusedError(*(diagnostic._replace(file=file) for diagnostic in self.diagnostics))


def refuse(message: str, slug: str, place: Place = (1, 1), path: Path = ()) -> RefusedError:
    return RefusedError(PathDiagnostic(path, message, slug, place=place))


def render(path: Path) -> str:
    """A path as people write it: `cases[2].expected.must_not_say[0]`."""
    return "".join(f"[{step}]" if isinstance(step, int) else _name(step) for step in path).removeprefix(".")


def _name(step: str) -> str:
    plain = step.replace("-", "_").replace("$", "_").isidentifier()
    return f".{shorten(step)}" if plain else f'["{visible(shorten(step))}"]'


def problems(
    file: str, diagnostics: Iterable[PathDiagnostic], document: Document | None, *, warning: bool = False
) -> list[Diagnostic]:
    """Diagnostics with their lines and columns, in the order of the file, the same one only once."""
    distinct = list(dict.fromkeys(diagnostics))
    located = [
        Diagnostic(f.file or file, *_place(f, document), render(f.path), f.message, f.slug, warning)
        for f in distinct[:MOST]
    ]
    located.sort(key=lambda p: (p.line, p.column))
    if len(distinct) > MOST:
        last = located[-1]
        more = f"{len(distinct) - MOST} more problems are not shown."
        located.append(Diagnostic(file, last.line, last.column, "", more, "too-many-problems", warning))
    return located


def _place(diagnostic: PathDiagnostic, document: Document | None) -> Place:
    if diagnostic.place is not None or document is None:
        return diagnostic.place or (1, 1)
    return document.place(diagnostic.path, key=diagnostic.key)
