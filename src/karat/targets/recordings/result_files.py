"""Result files of other tools that can be replayed: the answers of their cases, in the short form of a trace."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from io import BufferedReader
from itertools import islice
from typing import Any, NamedTuple

import jiter
import msgspec

from karat.model.suite import Case

RESULT_FILES = (
    ("karat.importers.bfcl.results", "BfclResults"),
    ("karat.importers.tau.results", "TauBenchTrajectories"),
    ("karat.importers.tau.results", "Tau2Results"),
    ("karat.importers.promptfoo.results", "PromptfooResults"),
    ("karat.importers.adk.results", "AdkResults"),
)
LARGEST = 1 << 30
_OURS = (b'"case_id"', b'"trace"', b'"kind"')
POSITIONAL = "positional"
"""Values of arguments without a name, until it is known which case the call belongs to."""


class RecordedCase(NamedTuple):
    """What an agent did in a case, in the short form. `repeat`: the number of the trial.

    With `by_prompt`, `case_id` is the prompt that was sent: the file does not name its cases.
    With `simulated` the user was a program: the case has one prompt, its script, and the turns are those of the two.
    """

    case_id: str
    form: dict[str, Any]
    repeat: int = 0
    simulated: bool = False
    by_prompt: bool = False
    ambiguous: str = ""
    """Why it may be of another case that has this prompt."""


class ResultFile:
    """A kind of result file: the values of its lines, or the one value that it is."""

    def recognizes(self, first: object) -> bool:
        """Whether a file is of this kind, by its first value."""
        raise NotImplementedError

    def read(self, values: Sequence[Any]) -> Iterator[RecordedCase]:
        """The cases of a file. Raises ValueError, KeyError or TypeError for what it cannot read."""
        raise NotImplementedError


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


def restore_names(form: dict[str, Any], case: Case) -> dict[str, Any]:
    """The calls by the names of the case: many services take no dot, and `math.sqrt` was asked for as `math_sqrt`.

    Arguments without a name are those that the case expects of the tool, in their order.
    """
    if "turns" in form:
        return {**form, "turns": [restore_names(turn, case) for turn in form["turns"]]}
    if not form.get("tool_calls"):
        return form
    expected = [msgspec.json.decode(spec.args) for _, spec in case.all_checks if spec.name == "tool_calls"]
    names = {check["tool"].replace(".", "_"): check["tool"] for check in expected if "." in check["tool"]}
    return {**form, "tool_calls": [_restore(call, names, expected) for call in form["tool_calls"]]}


def _restore(call: dict[str, Any], names: Mapping[str, str], expected: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    name = names.get(call["name"], call["name"])
    restored = {key: value for key, value in call.items() if key != POSITIONAL} | {"name": name}
    if values := call.get(POSITIONAL):
        arguments: Mapping[str, Any] = next(
            (check["arguments"] for check in expected if check["tool"] == name and check.get("arguments")), {}
        )
        parameters = [*arguments.get("$eq", arguments.get("$only", arguments))]
        parameters += map(str, range(len(parameters), len(values)))
        restored["arguments"] = dict(zip(parameters, values, strict=False)) | call["arguments"]
    return restored
