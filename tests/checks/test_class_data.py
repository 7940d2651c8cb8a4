"""What others must know of a check it says itself, and says truly."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

import carob
from carob.checks.base import Check
from carob.checks.catalog import ALWAYS, OWN, OWN_FIELDS, own_places
from carob.features.audit.judging import WATCHED
from carob.model.check import CheckSpec
from carob.model.trace import Channel, Trace
from carob.model.verdict import Group, Status
from carob.plugins.features import CheckPlace
from carob.scoring import verdicts
from catalogs import CATALOG

SOURCE = Path(carob.__file__).parent
SPELLS_FIELDS = {
    "suites/formats",
    "features/importers",
    "suites/declared.py",
    "features/coding/workspaces",
    "features/audit/operators",
    "features/draft",
    "features/lint/base.py",
    "features/lint/criteria.py",
    "features/lint/phrases.py",
    "features/lint/unseen.py",
}
"""Where suites are read, or written, by the fields that they are spelled with."""
PROTOCOLS = {
    "targets/http/ag_ui.py",
    "targets/http/ai_sdk.py",
    "features/frameworks/dspy.py",
    "targets/recordings",
    "features/setup/inspect/events.py",
    "features/setup/inspect/drafts.py",
    "providers/gemini.py",
}
"""Whose own words are those of checks by chance."""
TRACES = {*Trace.__struct_fields__, *get_args(Channel)}
"""Names of checks that are also names of something in a trace."""
NAMES = (
    {cls.name for cls in OWN.values()}
    - TRACES
    - {"ended", "unjudged", "code", "rule", "shared_rule", "outside", "network", "claims", "diff", "commands", "skills"}
    - {"meets"}
)
"""Without words of reports, of verdicts and of the index."""
LOOKS_AT_ALL = {"score_of"}
"""Checks made of others, which may look at whatever those do."""
KEPT_IN = {
    "tools": "tool_calls",
    "tool_results": "tool_calls",
    **dict.fromkeys(("files", "processes", "after"), "workspace"),
}


class Watched(Trace):
    """A trace that remembers what was looked at. Whether a channel was seen at all is no look at it."""

    def __getattribute__(self, name: str) -> Any:
        if name in CONTENT:
            LOOKED_AT.add(name)
        return super().__getattribute__(name)


CONTENT = set(Trace.__struct_fields__) - {
    "case_id",
    "unobserved",
    "cuts",
    "dialect",
    "possible_calls",
    "turns",
    "earlier",
    "setup_calls",
    "setup_prompts",
    "error",
}
"""What was seen of the agent, not how it was seen or is to be read; turns are traces, and errors are not judged."""
LOOKED_AT: set[str] = set()
TRIED = [Watched(**msgspec.structs.asdict(example.trace)) for cls in OWN.values() for example in cls.examples]


def built(cls: type[Check], args: Any) -> Check:
    spec = CheckSpec(cls.name, msgspec.Raw(msgspec.json.encode(args)))
    (check,) = CATALOG.checks((spec,))
    return check


@pytest.mark.parametrize(
    "cls",
    [cls for cls in OWN.values() if Status.PASSED in cls.shows and cls.name not in LOOKS_AT_ALL],
    ids=lambda cls: cls.name,
)
def test_a_check_looks_at_no_channel_that_it_does_not_name(cls: type[Check]) -> None:
    LOOKED_AT.clear()
    for example in cls.examples:
        check = built(cls, example.args)
        for trace in TRIED:
            verdicts.run_check(check, trace)
    assert cls.channels
    assert {KEPT_IN.get(channel, channel) for channel in cls.channels} >= LOOKED_AT > set()
    assert cls.channels <= WATCHED.keys()


def spelled(tree: ast.AST) -> Iterator[ast.Constant]:
    """Constants that are names of checks, but for keys of what is to be written into `expected`."""
    keys = {id(key) for node in ast.walk(tree) if isinstance(node, ast.Dict) for key in node.keys}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in NAMES and id(node) not in keys:
            yield node


def test_no_check_is_named_outside_checks() -> None:
    named_checks = []
    for file in SOURCE.rglob("*.py"):
        path = file.relative_to(SOURCE).as_posix()
        if not path.startswith(("checks/", "features/coding/checks/", *SPELLS_FIELDS, *PROTOCOLS)):
            named_checks += [f"{path}:{node.lineno} {node.value}" for node in spelled(ast.parse(file.read_text()))]
    assert named_checks == []


def test_a_name_that_is_spelled_is_noticed() -> None:
    code = 'kills = {"must_say_any": 1}\nif spec.name == "outcome": named("must_not_say")'
    assert [node.value for node in spelled(ast.parse(code))] == ["outcome", "must_not_say"]


@pytest.mark.parametrize("place", own_places(), ids=lambda place: place.name)
def test_the_table_of_names_says_what_the_class_says(place: CheckPlace) -> None:
    cls = OWN[place.name]
    assert (cls.name, tuple(field.name for field in cls.fields)) == (place.name, place.keys)
    assert cls.always is (place.name == ALWAYS)
    assert cls.group in Group
    assert [OWN_FIELDS[key] for key in place.keys] == [*cls.fields]


def test_every_check_of_ours_is_in_the_table() -> None:
    source = "".join(file.read_text() for file in SOURCE.glob("checks/**/*.py"))
    source += "".join(file.read_text() for file in SOURCE.glob("features/*/checks/*.py"))
    named = {
        node.name
        for node in ast.walk(ast.parse(source.replace("from __future__ import annotations", "")))
        if isinstance(node, ast.ClassDef)
        for line in node.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
        if line.target.id == "name" and "ClassVar" in ast.unparse(line.annotation) and line.value is not None
        if not isinstance(line.value, ast.Attribute)
    }
    assert named == {cls.__name__ for cls in OWN.values()}
