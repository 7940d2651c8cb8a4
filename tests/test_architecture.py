"""The picture of the house is the one that import-linter proves, and every room of it is there."""

from __future__ import annotations

import ast
import re
import runpy
from collections import Counter
from collections.abc import Set
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from carob.text.words import published_lists

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "ARCHITECTURE.md").read_text()


def test_the_page_and_its_picture_are_those_of_the_contracts_and_the_catalog() -> None:
    again = "run `python scripts/architecture.py`"
    drawn = runpy.run_path(str(ROOT / "scripts/architecture.py"))
    assert drawn["page"](PAGE) == PAGE, again
    assert "| `viewer` | shows runs in a browser |" in PAGE
    assert (ROOT / "docs/images/architecture.svg").read_text() == drawn["picture"](), (
        "run `python scripts/architecture.py`"
    )


def test_every_room_is_described() -> None:
    rooms = {
        path.name for path in (ROOT / "src" / "carob").iterdir() if path.name.isidentifier() or path.suffix == ".py"
    }
    rooms = {name if name.endswith(".py") else f"{name}/" for name in rooms} - {"__init__.py", "__pycache__/"}
    described = {name for row in re.findall(r"^\|(.*?)\|", PAGE, re.MULTILINE) for name in re.findall("`(.*?)`", row)}
    assert rooms - described == set()


@pytest.fixture(scope="module")
def modules() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in (ROOT / "src" / "carob").rglob("*.py")}


def test_functions_fit_a_screen(modules: dict[Path, ast.Module]) -> None:
    long = [
        f"{path}:{node.lineno} {node.name}"
        for path, tree in modules.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (node.end_lineno or 0) - node.lineno >= 60
    ]
    assert long == []


def test_no_two_classes_have_one_name(modules: dict[Path, ast.Module]) -> None:
    """But for the messages of a protocol, which are called what the protocol calls them."""
    trees = [tree for path, tree in modules.items() if path.name != "messages.py"]
    names = Counter(node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef))
    assert [name for name, count in names.items() if count > 1 and not name.startswith("_")] == []


def imported_modules(name: str, tree: ast.Module, names: Set[str]) -> set[str]:
    """The modules of Carob that one names anywhere, also only for its types."""
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}:{node.lineno}: import by the full name"
            below = {f"{node.module}.{alias.name}" for alias in node.names}
            imported |= below & names or {str(node.module)}
    return (imported & names) - {name}


def test_there_is_no_circle_of_imports_even_for_types(modules: dict[Path, ast.Module]) -> None:
    trees = {module_name(path): tree for path, tree in modules.items()}
    graph = {name: imported_modules(name, tree, trees.keys()) for name, tree in trees.items()}
    assert sum(map(len, graph.values())) > len(graph)
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the modules


def test_a_circle_of_types_is_found() -> None:
    names = {"carob.a", "carob.b"}
    to_b = ast.parse("if TYPE_CHECKING:\n    from carob.b import B")
    to_a = ast.parse("from carob import a")
    graph = {"carob.a": imported_modules("carob.a", to_b, names), "carob.b": imported_modules("carob.b", to_a, names)}
    with pytest.raises(CycleError):
        TopologicalSorter(graph).prepare()


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT / "src").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


ALTERNATIVES = re.compile(r"\b[a-z]{3,}(?:\\?[|][a-z' ]{3,}){2,}")
IN_SNAPSHOTS = {
    "checks/page/snapshot.py",
    "checks/page/ui.py",
    "checks/page/elements.py",
    "checks/answer/nodes.py",
    "checks/answer/brief.py",
    "checks/answer/syntax.py",
    "checks/numbers/sources.py",
}
"""Roles of elements, sentences about pages, the regexes of the Morning Brief, keywords of SQL, and nouns of numbers."""


def test_checks_hold_no_words_of_prose(modules: dict[Path, ast.Module]) -> None:
    """Words come from `carob.text.words`: no check holds a list of them, in a regex or as a tuple of entries."""
    entries = {entry for one in published_lists().values() for entry in one.entries}
    found = []
    for path, tree in modules.items():
        place = path.relative_to(ROOT / "src" / "carob").as_posix()
        if not place.startswith("checks/") or place in IN_SNAPSHOTS:
            continue
        for node in ast.walk(tree):
            texts = [e.value for e in getattr(node, "elts", ()) if isinstance(e, ast.Constant)]
            is_list = len(entries.intersection(map(str, texts))) > 2
            is_regex = isinstance(node, ast.Constant) and ALTERNATIVES.search(str(node.value))
            found += [f"{place}:{node.lineno}"] if is_list or is_regex else []
    assert found == []
