"""A skill's `evals/evals.json`: prompts, what is expected in free text, and files to work on.

That the skill is used is judged here, and sentences on the answer are criteria for people. References are said to be
unjudged: write the deeds that they mean as `commands`, `files` and `claims`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

from carob.features.importers.criteria import read_criteria
from carob.suites.formats.base import Format, ParsedSuite, SuiteCatalog, SuiteFile
from carob.suites.formats.builder import SuiteBuilder

FILE = "evals.json"
SKILL = "SKILL.md"
PROMPTS = ("prompt", "query", "input", "task")
IN_WORDS = ("expected_output", "expectations", "assertions", "expected_behavior", "expected", "rubric", "criteria")
CRITERIA = ("expectations", "assertions", "expected_behavior")
"""What an answer must meet, sentence by sentence; the others are references, or scales."""
TEXT_KEYS = ("text", "description", "assertion", "expectation", "check", "name", "criterion")


class _Eval(TypedDict, total=False):
    id: str | int
    name: str
    prompt: str
    query: str
    files: list[Any]
    skills: list[str]
    should_trigger: bool


class SkillEvals(Format):
    """Each eval as a case that expects the skill to be used."""

    name = "skill-evals"
    title = "a skill's evals.json"
    description = "an object with 'skill_name' and 'evals', or a list of evals in evals.json or with 'should_trigger'"

    def recognizes(self, file: SuiteFile) -> bool:
        rows, _ = _list_evals(file.tree)
        first = rows[0] if rows else None
        if not isinstance(first, dict) or not any(isinstance(first.get(key), str) for key in PROMPTS):
            return False
        if isinstance(file.tree, dict) or isinstance(first.get("should_trigger"), bool):
            return True
        if "skills" in first:
            return not {"query", "expected_behavior"}.isdisjoint(first)
        return file.name == FILE and not first.keys().isdisjoint(IN_WORDS)

    def read(self, file: SuiteFile, catalog: SuiteCatalog) -> ParsedSuite:
        suite = SuiteBuilder(file, catalog)
        tree: Any = file.tree
        rows, at = _list_evals(tree)
        suite.require(rows, list[_Eval], at)
        named = tree.get("skill_name") or tree.get("skill") if isinstance(tree, dict) else None
        skill = str(named or _skill_around(file))
        for number, (name, row) in enumerate(zip(_name_all(rows), rows, strict=True)):
            _add_case(suite, row, (*at, number), name, skill)
        return suite.build(name=skill)


def _list_evals(tree: object) -> tuple[Sequence[Any], tuple[str, ...]]:
    if isinstance(tree, dict):
        rows = tree.get("evals")
        return (rows, ("evals",)) if isinstance(rows, list) else ([], ())
    # A list of JSON may be parsed as it is walked through.
    return (tree, ()) if isinstance(tree, Sequence) and not isinstance(tree, str) else ([], ())


def _skill_around(file: SuiteFile) -> str:
    """The skill in whose folder the evals are: it is called like the folder."""
    folder = file.folder.resolve()
    return next((place.name for place in (folder, folder.parent) if (place / SKILL).is_file()), "")


def _name_all(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A name of its own for each eval: what it is called, its id, or else its number."""
    for key in ("name", "id"):
        names = [str(row.get(key, "")) for row in rows]
        if all(names) and len({*names}) == len(names):
            return names
    return [str(number) for number in range(1, len(rows) + 1)]


def _add_case(suite: SuiteBuilder, row: Mapping[str, Any], path: tuple[Any, ...], name: str, skill: str) -> None:
    prompt = next((row[key] for key in PROMPTS if isinstance(row.get(key), str)), "")
    files = [str(file) for file in row.get("files") or ()]
    needed = [f"the workspace holds {file}" for file in files]
    case = suite.case(name, prompt, path, preconditions=needed)
    skills = [skill] if skill else [str(one) for one in row.get("skills") or ()]
    key = "not_used" if row.get("should_trigger") is False else "used"
    expected: dict[str, Any] = {"skills": {key: skills}} if skills else {}
    expected |= read_criteria((text for field in CRITERIA for text in _texts(row.get(field))), CRITERIA[0])
    others = [field for field in IN_WORDS if field not in CRITERIA]
    if unjudged := [f"{field}: {text}" for field in others for text in _texts(row.get(field))]:
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
