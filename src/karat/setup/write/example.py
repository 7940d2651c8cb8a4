"""`karat init --example`: a tiny agent with a bug to find, and the suite that finds it."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from karat.errors import UsageError
from karat.plugins.project import Project
from karat.setup.write import texts
from karat.setup.write.plan import InitPlan, plan_ignored, plan_schema
from karat.setup.write.writing import PlannedFile

SUITE = "desk.karat.yaml"
FILES = {
    "desk.py": "the agent: a refund desk with two tools",
    "model.py": "a scripted model for the tutorial",
    SUITE: "",
    "karat.toml": "",
}
"""Each with what is shown of it before it is written; the suite and the configuration are shown themselves."""


def plan_example(folder: Path, project: Project) -> InitPlan:
    """Plan the example, in a folder that has none of its files; one that has them all needs nothing."""
    there = [name for name in FILES if (folder / name).exists()]
    if len(there) == len(FILES):
        return InitPlan(folder, (), SUITE, works=True)
    if there:
        fix = "Run `karat init --example` in an empty folder."
        raise UsageError("it already exists, and the example has a file of that name.", where=there[0], fix=fix)
    files = [PlannedFile(name, _text(name), note=note) for name, note in FILES.items()]
    files += plan_schema(folder, project)
    files += plan_ignored(folder)
    return InitPlan(folder, tuple(files), SUITE, works=True)


def _text(name: str) -> str:
    text = resources.files("karat.setup.write").joinpath("example", name).read_text("utf-8")
    return texts.with_schema(text, name) if name == SUITE else text
