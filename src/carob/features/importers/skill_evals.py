"""A skill's `evals/evals.json`: prompts, what is expected in free text, and files to work on.

That the skill is used is judged here, and sentences on the answer are criteria for people. References are said to be
unjudged: write the deeds that they mean as `commands`, `files` and `claims`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict, TypeGuard

from carob.features.importers.criteria import read_criteria
from carob.suites.diagnostics import refuse
from carob.suites.formats.base import Format, ParsedSuite, SuiteCatalog, SuiteFile
from carob.suites.formats.builder import SuiteBuilder

FILE = "evals.json"
SKILL = "SKILL.md"
PROMPTS = ("prompt", "query", "input", "task", "question")
LISTS = ("evals", "evaluations", "queries", "cases")
"""Keys of an object that hold the evals."""
BY_TRIGGER = {"positive": True, "negative": False, "should_trigger": True, "should_not_trigger": False}
"""Keys of lists of prompts for which the skill is to be used, or not."""
TRIGGERS = ("should_trigger", "should_fire", "should_activate")
NAMES = ("skill_name", "skill", "target")
CRITERIA = ("expectations", "assertions", "expected_behavior")
"""What an answer must meet, sentence by sentence."""
IN_WORDS = (*CRITERIA, "expected_output", "expected", "rubric", "criteria")
EXPECTS = re.compile(r"expect|assert|rubric|criteri|checks?(?:_|$)|grad(?:e|er|ing)(?:_|$)|must|(?:^|_)should_")
"""What keys that expect something are called: what is not judged of them is said."""
TEXT_KEYS = ("text", "description", "assertion", "expectation", "check", "name", "criterion")
LONGEST = 300
FOLDERS = 3
"""So many folders around the file may be that of the skill."""
NO_SKILL = "the evals do not name their skill. Write 'skill_name' next to 'evals', or keep the file below SKILL.md."


class _Eval(TypedDict, total=False):
    id: str | int
    name: str
    prompt: str
    query: str
    task: str
    files: list[Any]
    skills: list[str]
    should_trigger: bool


class SkillEvals(Format):
    """Each eval as a case that expects the skill to be used."""

    name = "skill-evals"
    title = "a skill's evals.json"
    description = "an object with 'skill_name' and 'evals', or a list of evals in evals.json or with 'should_trigger'"

    def recognizes(self, file: SuiteFile) -> bool:
        first = next((row for row, _, _ in _list_evals(file.tree)), None)
        if not isinstance(first, dict) or not any(isinstance(first.get(key), str) for key in PROMPTS):
            return False
        if isinstance(file.tree, dict):
            return "evals" in file.tree or any(isinstance(file.tree.get(key), str) for key in NAMES)
        if any(isinstance(first.get(key), bool) for key in TRIGGERS):
            return True
        if "expected_behavior" in first and not {"query", "skills"}.isdisjoint(first):
            return True
        if "skills" in first:
            return "query" in first
        return file.name == FILE and not first.keys().isdisjoint(IN_WORDS)

    def read(self, file: SuiteFile, catalog: SuiteCatalog) -> ParsedSuite:
        suite = SuiteBuilder(file, catalog)
        tree: Any = file.tree
        evals = [*_list_evals(tree)]
        for row, path, _ in evals:
            suite.require(row, _Eval, path)
        named = next(filter(None, (tree.get(key) for key in NAMES)), "") if isinstance(tree, dict) else ""
        skill = str(named or _skill_around(file))
        if not skill and any(_trigger(row, implied) is not None and not _skills_used(row) for row, _, implied in evals):
            raise refuse(NO_SKILL, "no-skill")
        for name, (row, path, implied) in zip(_name_all([row for row, _, _ in evals]), evals, strict=True):
            _add_case(suite, row, path, name, skill, _trigger(row, implied))
        return suite.build(name=skill)


def _list_evals(tree: object) -> Iterator[tuple[Any, tuple[Any, ...], bool | None]]:
    """Each eval with its place, and whether the list that it is in says that the skill is to be used."""
    if isinstance(tree, dict):
        listed = next((key for key in LISTS if _is_list(tree.get(key))), "")
        lists: Mapping[str, bool | None] = {listed: None} if listed else BY_TRIGGER
        for key, used in ((key, used) for key, used in lists.items() if _is_list(tree.get(key))):
            for number, row in enumerate(tree[key]):
                yield {PROMPTS[0]: row} if used is not None and isinstance(row, str) else row, (key, number), used
    elif _is_list(tree):
        for number, row in enumerate(tree):
            yield row, (number,), None


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether it is a list, which may be parsed as it is walked through."""
    return isinstance(value, Sequence) and not isinstance(value, str)


def _trigger(row: Mapping[str, Any], implied: bool | None) -> bool | None:
    """Whether the skill is to be used; None where nothing says so."""
    return next((row[key] for key in TRIGGERS if isinstance(row.get(key), bool)), implied)


def _skills_used(row: Mapping[str, Any]) -> list[str]:
    """The skills that the eval itself names."""
    routed = row.get("route_to")
    return [routed] if isinstance(routed, str) and routed else [str(one) for one in row.get("skills") or ()]


def _skill_around(file: SuiteFile) -> str:
    """The skill in whose folder the evals are: it is called like the folder."""
    folder = file.folder.resolve()
    return next((place.name for place in (folder, *folder.parents)[:FOLDERS] if (place / SKILL).is_file()), "")


def _name_all(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A name of its own for each eval: what it is called, its id, or else its number."""
    for key in ("name", "id"):
        names = [str(row.get(key, "")) for row in rows]
        if all(names) and len({*names}) == len(names):
            return names
    return [str(number) for number in range(1, len(rows) + 1)]


def _add_case(
    suite: SuiteBuilder, row: Mapping[str, Any], path: tuple[Any, ...], name: str, skill: str, trigger: bool | None
) -> None:
    prompt = next((row[key] for key in PROMPTS if isinstance(row.get(key), str)), "")
    files = [str(file) for file in row.get("files") or ()]
    needed = [f"the workspace holds {file}" for file in files]
    case = suite.case(name, prompt, path, preconditions=needed)
    skills = _skills_used(row) or ([skill] if skill else [])
    if trigger is False:
        used = {key: names for key, names in (("not_used", [skill]), ("used", _skills_used(row))) if any(names)}
    else:
        used = {"used": skills}
    expected: dict[str, Any] = {"skills": used} if skills else {}
    expected |= read_criteria((text for field in CRITERIA for text in _texts(row.get(field))), CRITERIA[0])
    others = [key for key in row if EXPECTS.search(key) and key not in (*CRITERIA, *TRIGGERS)]
    if unjudged := [f"{key}: {text[:LONGEST]}" for key in others for text in _texts(row[key])]:
        expected["unjudged"] = [*expected.get("unjudged", ()), *unjudged]
    case.expect({"outcome": "completed", **expected} if expected else {}, path)


def _texts(value: Any) -> Iterator[str]:
    """What is expected, in words: a text, a list, or objects that say it under a key."""
    if isinstance(value, str) and value.strip():
        yield " ".join(value.split())
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        said = next((value[key] for key in TEXT_KEYS if isinstance(value.get(key), str)), "")
        yield from _texts(said or str(value))
    elif isinstance(value, bool | int | float):
        yield str(value)
