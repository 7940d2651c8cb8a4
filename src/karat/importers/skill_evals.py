"""A skill's `evals/evals.json`: prompts, what is expected in free text, and files to work on.

That the skill is used is judged here. What is expected is written for a person or a model to judge, and is said to be
unjudged: write the deeds that it means as `commands`, `files` and `claims`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

from karat.suites.formats.base import Format, ParsedSuite, SuiteCatalog, SuiteFile
from karat.suites.formats.builder import SuiteBuilder

PROMPTS = ("prompt", "query", "input")
IN_WORDS = ("expected_output", "expectations", "assertions", "expected_behavior", "expected", "rubric", "criteria")
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
    description = "an object with 'skill_name' and 'evals', or a list of evals with 'skills' and 'query' (skills)"

    def recognizes(self, file: SuiteFile) -> bool:
        rows, _ = _list_evals(file.tree)
        first = rows[0] if rows else None
        if not isinstance(first, dict) or not any(isinstance(first.get(key), str) for key in PROMPTS):
            return False
        is_named = isinstance(file.tree, dict) and "evals" in file.tree
        return is_named or ("skills" in first and not {"query", "expected_behavior"}.isdisjoint(first))

    def read(self, file: SuiteFile, catalog: SuiteCatalog) -> ParsedSuite:
        suite = SuiteBuilder(file, catalog)
        tree: Any = file.tree
        rows, at = _list_evals(tree)
        suite.require(rows, list[_Eval], at)
        skill = tree.get("skill_name") or tree.get("skill") if isinstance(tree, dict) else None
        for number, row in enumerate(rows):
            _add_case(suite, row, (*at, number), number, str(skill) if skill else "")
        return suite.build(name=str(skill or ""))


def _list_evals(tree: object) -> tuple[Sequence[Any], tuple[str, ...]]:
    if isinstance(tree, dict):
        rows = tree.get("evals")
        return (rows, ("evals",)) if isinstance(rows, list) else ([], ())
    return (tree, ()) if isinstance(tree, list) else ([], ())


def _add_case(suite: SuiteBuilder, row: Mapping[str, Any], path: tuple[Any, ...], number: int, skill: str) -> None:
    prompt = next((row[key] for key in PROMPTS if isinstance(row.get(key), str)), "")
    name = str(row.get("name") or row.get("id") or number + 1)
    files = [str(file) for file in row.get("files") or ()]
    needed = [f"the workspace holds {file}" for file in files]
    case = suite.case(name, prompt, path, preconditions=needed)
    skills = [skill] if skill else [str(one) for one in row.get("skills") or ()]
    key = "not_used" if row.get("should_trigger") is False else "used"
    unjudged = [f"{field}: {text}" for field in IN_WORDS for text in _texts(row.get(field))]
    expected: dict[str, Any] = {"skills": {key: skills}} if skills else {}
    if unjudged:
        expected["unjudged"] = unjudged
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
