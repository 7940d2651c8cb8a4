"""The result files of other tools that can be replayed."""

from __future__ import annotations

import importlib
from io import BufferedReader
from itertools import islice

import jiter

from karat.targets.recordings.base import RecordedCase, ResultFile

RESULT_FILES = (
    ("karat.importers.bfcl.results", "BfclResults"),
    ("karat.importers.tau.results", "TauBenchTrajectories"),
    ("karat.importers.tau.results", "Tau2Results"),
    ("karat.importers.promptfoo.results", "PromptfooResults"),
    ("karat.importers.adk.results", "AdkResults"),
)
LARGEST = 1 << 30
_OURS = (b'"case_id"', b'"trace"', b'"kind"')


def read_results(file: BufferedReader) -> list[RecordedCase] | None:
    """What a result file of another tool holds; None if it is not one. Raises ValueError with the reason."""
    file.seek(0)
    try:
        return _read(file)
    finally:
        file.seek(0)


def _read(file: BufferedReader) -> list[RecordedCase] | None:
    first = next((line for line in islice(file, 100) if line.strip()), b"").strip()
    if first.startswith(b"{") and first.endswith(b"}") and any(key in first for key in _OURS):
        return None
    values = _values(first, file)
    if not values:
        return None
    for module, name in RESULT_FILES:
        result_file: ResultFile = getattr(importlib.import_module(module), name)()
        if result_file.recognizes(values[0]):
            try:
                return list(result_file.read(values))
            except (KeyError, TypeError, AttributeError, IndexError) as error:
                raise ValueError(f"the results cannot be read: {type(error).__name__}: {error}") from None
    return None


def _values(first: bytes, file: BufferedReader) -> list[object]:
    """The values of the lines, or the one value that the whole file is; none if it is neither."""
    file.seek(0)
    data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError(f"larger than {LARGEST >> 30} GiB, the most that is read of the results of other tools")
    try:
        if first.startswith(b"{") and first.endswith(b"}"):
            return [jiter.from_json(line, cache_mode="none") for line in data.splitlines() if line.strip()]
        return [jiter.from_json(data, cache_mode="none")]
    except ValueError:
        return []
