"""Values at JSONPaths (RFC 9535) of a JSON value."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from karat.model.check import CheckProblem

if TYPE_CHECKING:
    from jsonpath_rfc9535 import JSONPathQuery

LONGEST_PATH = 1000


@lru_cache(maxsize=1024)
def compile_path(path: str) -> JSONPathQuery:
    import jsonpath_rfc9535

    return jsonpath_rfc9535.compile(path)


def path_problems(path: str, *place: str | int) -> Iterator[CheckProblem]:
    """A JSONPath that does not parse."""
    from jsonpath_rfc9535 import JSONPathError

    if len(path) > LONGEST_PATH:
        yield CheckProblem("bad-jsonpath", f"the path is longer than {LONGEST_PATH} characters.", place, key=True)
        return
    try:
        compile_path(path)
    except JSONPathError as error:
        why = str(error).partition(", line")[0].splitlines()[0]
        yield CheckProblem(
            "bad-jsonpath", f"it is not a JSONPath: {why}. Write it as '$.total' or '$.items[*].price'.", place, True
        )


def values_at(path: str, value: object) -> list[tuple[str, object]]:
    """Every value that the path leads to, with its own path."""
    from jsonpath_rfc9535 import JSONPathError

    try:
        found = compile_path(path).find(value)  # type: ignore[arg-type]
    except JSONPathError:
        return []  # what it compares cannot be compared in this value: it leads nowhere
    return [(node.path(), node.value) for node in found]
