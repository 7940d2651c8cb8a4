"""Tasks of coder-eval, as UiPath's skills have them: one file per task, with criteria of success.

Commands, files, skills and commands that are run afterwards are judged here. What a model judges is not, nor what asks
in a language that Carob does not have, nor a criterion that nothing can fail (`pass_threshold: 0`): each is said to be
unjudged. How the sandbox is made is the target's workspace, so it is a precondition here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NotRequired, Required, TypedDict

from carob.suites.diagnostics import Path, RefusedError
from carob.suites.documents.json import JsonLinesDocument
from carob.suites.documents.source import read_bytes
from carob.suites.formats.base import Format, ParsedSuite, SuiteCatalog, SuiteFile
from carob.suites.formats.builder import SuiteBuilder
from carob.text.wording import join_words, quoted

SHELLS = (None, "Bash")
NO_PROMPT = "the task has no prompt: a model plays the user"
SIMULATED = "simulation: a model goes on in the place of the user; only the first prompt is sent"
ADVISORY = "advisory, it can never fail"
OTHER_TOOL = "calls of other tools than the shell are not matched by their line"
IN_WORDS: Mapping[str, str] = {
    "llm_judge": "a model judges it",
    "json_check": "it asks in JMESPath",
    "classification_match": "it scores a whole dataset",
    "commands_efficiency": "it is a score without a limit",
}
_HOLE = re.compile(r"\$\{row\.(\w+)\}")


NEEDED: Mapping[str, str] = {
    "command_executed": "command_pattern",
    "command_not_executed": "command_pattern",
    "cli_called": "tool",
    "skill_triggered": "skill_name",
    "run_command": "command",
    "file_exists": "path",
    "file_contains": "path",
    "file_matches_regex": "path",
    "file_check": "path",
}
"""The key without which a criterion asks for nothing."""


class _Criterion(TypedDict, total=False):
    type: Required[str]
    description: str
    command_pattern: str
    exclude_pattern: str
    min_count: int
    max_count: int
    command: str
    path: str
    pattern: str
    includes: list[str]
    excludes: list[str]
    skill_name: str
    verb: str
    verb_any_of: list[str]
    tool: str


class _Dataset(TypedDict, total=False):
    rows: list[dict[str, Any]]
    paths: list[str]
    id_field: str


class _Task(TypedDict):
    task_id: str
    description: NotRequired[str]
    tags: NotRequired[list[str]]
    initial_prompt: NotRequired[str]
    success_criteria: list[_Criterion]
    dataset: NotRequired[_Dataset]
    pre_run: NotRequired[list[dict[str, Any]]]
    sandbox: NotRequired[dict[str, Any]]
    skip: NotRequired[bool | str | dict[str, Any]]


class CoderEval(Format):
    """A task and its criteria, as fields of `expected`."""

    name = "coder-eval"
    title = "coder-eval tasks"
    description = "a task with 'task_id' and 'success_criteria' (coder-eval)"

    def recognizes(self, file: SuiteFile) -> bool:
        tree = file.tree
        return isinstance(tree, dict) and "task_id" in tree and isinstance(tree.get("success_criteria"), list)

    def read(self, file: SuiteFile, catalog: SuiteCatalog) -> ParsedSuite:
        suite = SuiteBuilder(file, catalog)
        suite.require(file.tree, _Task)
        task: Any = file.tree
        rows = _read_rows(file, task, suite) if "dataset" in task else [{}]
        for number, row in enumerate(rows, 1):
            filled = _fill(task, row) if row else task
            key = str(row.get(task.get("dataset", {}).get("id_field", "id"), number)) if row else ""
            _add_case(suite, filled, f"{filled['task_id']}-{key}" if key else filled["task_id"])
        return suite.build(name=task["task_id"], description=task.get("description", ""))


def _read_rows(file: SuiteFile, task: Mapping[str, Any], suite: SuiteBuilder) -> list[Mapping[str, Any]]:
    """The rows of a dataset: those in the task, and those of files next to it."""
    dataset = task["dataset"]
    rows = [*dataset.get("rows", ())]
    for number, name in enumerate(dataset.get("paths", ())):
        file.refuse_outside(name, ("dataset", "paths", number))
        if name not in file.others:
            file.others[name] = read_bytes(file.folder / name)
        document = JsonLinesDocument(file.others[name])
        if document.diagnostics:
            raise RefusedError(*document.diagnostics).in_file(str(file.folder / name))
        rows += [row for row in document.rows if isinstance(row, dict)]
    if not rows:
        suite.problem(("dataset",), "the dataset has no rows.", "empty-suite")
    return rows


def _fill(value: Any, row: Mapping[str, Any]) -> Any:
    """A value with what a row has in the places of `${row.KEY}`."""
    if isinstance(value, dict):
        return {key: _fill(inner, row) for key, inner in value.items()}
    if isinstance(value, list):
        return [_fill(inner, row) for inner in value]
    return _HOLE.sub(lambda hole: str(row.get(hole[1], hole[0])), value) if isinstance(value, str) else value


def _add_case(suite: SuiteBuilder, task: Mapping[str, Any], name: str) -> None:
    prompt, simulated = task.get("initial_prompt") or "", "simulation" in task
    case = suite.case(
        name,
        prompt or task.get("description") or name,
        (),
        tags=[str(tag) for tag in task.get("tags") or ()],
        preconditions=[*_preconditions(task)],
        skip=NO_PROMPT if not prompt else "the task says so" if task.get("skip") else "",
    )
    expected: dict[str, Any] = {}
    unjudged = [SIMULATED] if simulated else []
    for number, criterion in enumerate(task["success_criteria"]):
        if criterion.get("pass_threshold") == 0:
            fields: Mapping[str, Any] | str = ADVISORY
        else:
            fields = _read_criterion(criterion, ("success_criteria", number), suite)
        if isinstance(fields, str):
            unjudged.append(f"{criterion['type']}: {fields}: {criterion.get('description', '')}".rstrip(": "))
        else:
            _add(expected, fields)
    if unjudged:
        expected["unjudged"] = unjudged
    case.expect({"outcome": "completed", **expected}, (), dict.fromkeys(expected, ("success_criteria",)))


def _preconditions(task: Mapping[str, Any]) -> Iterator[str]:
    """What has to be there before the agent starts: `setup` and the folder of the target's workspace."""
    sandbox = task.get("sandbox") or {}
    for source in sandbox.get("template_sources") or ():
        yield f"the workspace holds {source.get('path') or source}" if isinstance(source, dict) else str(source)
    for step in task.get("pre_run") or ():
        yield f"run before: {step.get('command', '')}"


def _add(expected: dict[str, Any], fields: Mapping[str, Any]) -> None:
    """Add the fields of one criterion to those of the others."""
    for key, value in fields.items():
        if isinstance(value, list):
            expected[key] = [*expected.get(key, ()), *(item for item in value if item not in expected.get(key, ()))]
        elif key == "contents":
            for path, matcher in value.items():
                known = expected.setdefault(key, {}).get(path)
                expected[key][path] = matcher if known is None else {"$all": [known, matcher]}
        else:
            _add(expected.setdefault(key, {}), value)


def _read_criterion(criterion: Mapping[str, Any], path: Path, suite: SuiteBuilder) -> Mapping[str, Any] | str:
    """The fields that a criterion asks for, or why it is not judged."""
    kind = criterion["type"]
    if kind in IN_WORDS:
        return IN_WORDS[kind]
    readers = {
        "command_executed": _read_command,
        "command_not_executed": _read_command,
        "cli_called": _read_cli,
        "skill_triggered": _read_skill,
        "run_command": _read_run,
        "file_exists": _read_file,
        "file_contains": _read_file,
        "file_matches_regex": _read_file,
        "file_check": _read_file,
    }
    if kind not in readers:
        known = join_words([*readers, *IN_WORDS], "and")
        suite.problem((*path, "type"), f"unknown criterion {quoted(kind)} (known: {known}).", "unknown-value")
        return {}
    if not criterion.get(NEEDED[kind]):
        suite.problem(path, f"the criterion {quoted(kind)} has no {quoted(NEEDED[kind])}. Add it.", "missing-field")
        return {}
    return readers[kind](criterion)


def _read_command(criterion: Mapping[str, Any]) -> Mapping[str, Any] | str:
    if criterion.get("tool_name") not in SHELLS:
        return OTHER_TOOL
    pattern = criterion["command_pattern"]
    if without := criterion.get("exclude_pattern"):
        pattern = rf"(?s)^(?!.*(?:{without})).*?(?:{pattern})"
    is_never = criterion["type"] == "command_not_executed"
    if not is_never and not criterion.get("min_count", 1) and criterion.get("max_count") is None:
        return ADVISORY
    return {"commands": [_count(pattern, criterion, is_never=is_never, needs_success=criterion.get("require_success"))]}


def _count(pattern: str, criterion: Mapping[str, Any], *, is_never: bool, needs_success: object) -> dict[str, Any]:
    least, most = criterion.get("min_count", 1), criterion.get("max_count")
    if (is_never and not most) or most == 0:
        return {"run": pattern, "never": True}
    times = {"max": most} if is_never else {"min": least, **({} if most is None else {"max": most})}
    return {"run": pattern, "times": times, **({"exit": 0} if needs_success else {})}


def _read_cli(criterion: Mapping[str, Any]) -> Mapping[str, Any]:
    """A call of a program by its verb, with these words and flags somewhere after it."""
    verbs = criterion.get("verb_any_of") or [criterion.get("verb", "")]
    verb = "|".join(r"\s+".join(map(re.escape, str(one).split())) for one in verbs)
    rest = [rf"(?=.*{re.escape(str(word))})" for word in criterion.get("positional") or ()]
    for flag, wanted in (criterion.get("flags") or {}).items():
        names = [flag, *(wanted.get("aliases") or ())] if isinstance(wanted, dict) else [flag]
        value = str(wanted.get("contains", wanted.get("equals", ""))) if isinstance(wanted, dict) else str(wanted)
        dashed = "|".join(("-" if len(name) == 1 else "--") + re.escape(name) for name in names)
        rest.append(rf"(?=.*\s(?:{dashed})[=\s].*{re.escape(value)})")
    pattern = rf"(?s)\b{re.escape(str(criterion.get('tool', '')))}\s+(?:{verb})\b{''.join(rest)}"
    return {"commands": [_count(pattern, criterion, is_never=False, needs_success=False)]}


def _read_skill(criterion: Mapping[str, Any]) -> Mapping[str, Any]:
    skill = criterion["skill_name"]
    return {"skills": {"used" if criterion.get("expected_skill", skill) == skill else "not_used": [skill]}}


def _read_run(criterion: Mapping[str, Any]) -> Mapping[str, Any]:
    seconds = {"seconds": criterion["timeout"]} if criterion.get("timeout") else {}
    return {"after": [{"run": criterion["command"].strip(), "exit": criterion.get("expected_exit_code", 0), **seconds}]}


def _read_file(criterion: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a file holds; without that, that it is there."""
    wanted: list[Any] = [{"$contains": text} for text in criterion.get("includes") or ()]
    wanted += [{"$not": {"$contains": text}} for text in criterion.get("excludes") or ()]
    patterns: Sequence[Any] = criterion.get("patterns") or ([criterion] if "pattern" in criterion else ())
    for pattern in patterns:
        found = {"$regex": pattern.get("pattern", "")}
        wanted.append(found if pattern.get("must_match", True) else {"$not": found})
    path = criterion["path"]
    if not wanted:
        return {"files": {"exist": [path]}}
    return {"files": {"contents": {path: wanted[0] if len(wanted) == 1 else {"$all": wanted}}}}
