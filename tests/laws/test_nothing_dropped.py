"""Law 7: nothing is dropped. What a file expects is judged, said to be not judged, or refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from carob.checks.external import Unjudged
from carob.errors import SuiteError
from carob.model.suite import Suite
from carob.suites import load
from carob.suites.formats.builder import Expectations
from features.importers import test_recordings_of_suites as recorded
from laws.coverage import Coverage, require
from laws.files import AS_TEXT, SUITES, Place, SuiteText, places, remove, replace
from laws.samples import CATALOG

NOTES: Mapping[str, frozenset[str]] = {
    "carob-1": frozenset(),
    "eval-set": frozenset({"name", "category"}),
    "golden": frozenset(),
    "promptfoo": frozenset({"description", "label", "role"}),
    "adk": frozenset({"eval_set_id", "session_input", "role", "invocation_id"}),
    "bfcl": frozenset({"role", "type", "properties", "parameters", "required", "function"}),
    "tau-bench": frozenset({"user_id", "summary"}),
    "tau2": frozenset({"action_id", "initial_state", "env_type"}),
    "deepeval": frozenset({"name"}),
    "pydantic-evals": frozenset({"name"}),
    "agentevals": frozenset({"id", "role", "content"}),
    "coder-eval": frozenset({"task_id", "tool_name", "prompt"}),
    "skill-evals": frozenset({"id"}),
}
"""Keys that ask for nothing: names and notes, and of messages what the user or the tool says."""
ASKS_NOTHING: Mapping[str, str] = {
    r"agentevals .*'reference_outputs', [23]\)": "of a reference its calls are compared, as agentevals does",
    r"agentevals .*without \(0, 'tool_args_match_mode'\)": "`exact` is the default",
    r"coder-eval .*without .*'(expected_skill|min_count)'": "the skill itself, and 1, are the defaults",
    r"deepeval .*'user_description'": "what a simulated user is told; no simulation is run",
    r"promptfoo .*'providers'": "`openai:gpt-4o` has no equal among targets, and the run says so",
    r"pydantic-evals .*'OwnCheck', 'limit'": "an argument of code: the evaluator is counted as not judged by its name",
    r"tau-bench .*'actions', [02]": "a read and a transfer of tau-bench change no state, as its reward has it",
    r"tau2 .*'arguments', 'b'": "`compare_args` leaves it out",
}
"""Places that ask for nothing of their own, by the violation that they would be."""
EXCEPTIONS = {**AS_TEXT, "names and notes": "they ask for nothing", **ASKS_NOTHING}


def _content(suite: Suite) -> object:
    cases = [structs.asdict(case) for case in suite.cases]
    return cases, suite.metadata, suite.name, suite.description, suite.warnings, suite.target, suite.target_options


def _read(path: Path) -> object:
    try:
        return _content(load(path, CATALOG))
    except SuiteError as error:
        return str(error).replace(str(path), "")


def _asking(suite: SuiteText) -> Iterator[Place]:
    """The places of what a file asks for."""
    for place in places(suite.tree):
        if place and not NOTES[suite.format].intersection(map(str, place)):
            yield place


def _another(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return f"{value} else" if isinstance(value, str) else value


def _value_at(tree: Any, place: Place) -> Any:
    for step in place:
        tree = tree[step]
    return tree


def find_dropped(folder: Path) -> Coverage:
    """Expectations that make no difference: without them, or with others, the file reads the same."""
    formats = [suite.format for suite in SUITES]
    coverage = Coverage(7, "nothing that a file expects is dropped", formats=formats, exceptions=EXCEPTIONS)
    for suite in SUITES:
        whole = _read(suite.write(folder, suite.tree))
        for place in _asking(suite):
            value = _value_at(suite.tree, place)
            changes = {"without": remove(suite.tree, place)} if value not in ({}, [], "") else {}
            if _another(value) != value:
                changes["another"] = replace(suite.tree, place, _another(value))
            for how, tree in changes.items():
                found = _read(suite.write(folder, tree))
                violation = f"{suite.format} {suite.name}: {how} {place} makes no difference"
                excused = any(re.search(known, violation) for known in ASKS_NOTHING)
                coverage.try_one(found != whole or excused, violation)
    return coverage


def test_nothing_that_a_file_expects_is_dropped(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    require(find_dropped(tmp_path), record_property)


def test_an_expectation_that_is_dropped_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: what another tool must judge is not counted."""
    monkeypatch.setattr(Unjudged, "read", classmethod(lambda cls, expected: iter(())))
    check = Expectations.check
    monkeypatch.setattr(
        Expectations, "check", lambda self, name, *args, **how: name == "unjudged" or check(self, name, *args, **how)
    )
    assert find_dropped(tmp_path).violations


def test_cases_in_are_cases_out(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """A file of the same case twice, under other names, has twice the cases."""
    coverage = Coverage(7, "cases in are cases out", formats=[suite.format for suite in SUITES])
    for suite in SUITES:
        for key, name in (("cases", "id"), ("eval_cases", "eval_id"), ("", "")):
            listed = suite.tree[key] if key and isinstance(suite.tree, dict) and key in suite.tree else None
            if key == "" and isinstance(suite.tree, list):
                listed, name = suite.tree, "id"
            if not listed:
                continue
            more = [{**listed[0], **({name: f"{listed[0][name]}-again"} if name in listed[0] else {})}]
            tree = {**suite.tree, key: [*listed, *more]} if key else [*listed, *more]
            try:
                before, after = (load(suite.write(tmp_path, one), CATALOG).cases for one in (suite.tree, tree))
            except SuiteError:
                continue  # refused, which drops nothing
            added = len(after) - len(before)
            coverage.try_one(added >= 1, f"{suite.format}: {len(before)} cases and one more are {len(after)}")
    require(coverage, record_property)


def test_results_are_matched_by_identity(tmp_path: Path) -> None:
    """Two conversations that end with one message are not each other's results."""
    tests = [
        {"vars": {"m": text}, "assert": [{"type": "equals", "value": text}], "metadata": {"conversationId": name}}
        for name, said in (("a", ["One?", "Go on."]), ("b", ["Two?", "Go on."]))
        for text in said
    ]
    config = {"prompts": ["{{m}}"], "tests": tests}
    said = ("One?", "Go on.", "Two?", "Go on.")
    answers = ("One?", "Go on.", "Two?", "something else")
    rows = [recorded.row(prompt, text, testIdx=n) for n, (prompt, text) in enumerate(zip(said, answers, strict=True))]
    run = recorded.replay(tmp_path, config, "promptfooconfig.json", {"results": {"results": rows}})
    assert [str(record.status) for record in run] == ["ERROR", "ERROR"]


def test_every_format_is_tried() -> None:
    assert set(NOTES) == {suite.format for suite in SUITES} == {format.name for format in CATALOG.formats}
