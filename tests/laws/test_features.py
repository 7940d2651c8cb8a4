"""No feature holds another up: without its folder and its line, the core imports, helps, and passes its own tests.

A test is the core's own unless it lies in a folder of `NOT_OF_THE_CORE`, its file imports a feature, or
`about_features.txt` names it: there it goes through every command, key or format of the house.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from carob.features.catalog import NAMES

ROOT = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", ".tools", ".counterparts", "site", "carob-results", "node_modules", ".hypothesis", ".*_cache"
)
NOT_OF_THE_CORE = ("features", "laws", "examples", "evals", "golden", "benchmarks", "counterparts")
"""Laws hold for the whole house, features included; the others use what is around it."""
OF_A_FEATURE = re.compile(r"^\s*(?:from|import) (?:carob\.)?features\.\w+", re.MULTILINE)
SHORT = ("tests/model", "tests/scoring", "tests/matchers")
ALLOWED = r'^    "carob\.features\.(\w+)\..+ -> carob\.features\.(\w+)\..+",( # .+)?$'
FOLDERS = sorted(path.parent.name for path in (ROOT / "src/carob/features").glob("*/__init__.py"))
IMPORTS = """
import sys, carob
from importlib import import_module
from pathlib import Path
home = Path(carob.__file__).parent
for path in sorted(home.rglob("*.py")):
    parts = path.relative_to(home).with_suffix("").parts
    if parts[0] != "features" and "code_runners" not in parts:  # scripts
        import_module(".".join(["carob", *parts]).removesuffix(".__init__"))
import_module("carob_pytest.suites"), import_module("carob_pytest.journals")
print(carob.__file__)
print(*(name for name in sys.modules if name.count(".") > 2 and name.startswith("carob.features.")))
from carob.cli.main import run
sys.exit(run(["--help"]))
"""


def copy_without(folder: Path, *features: str) -> Path:
    """A copy of this repository in which these features were deleted as a person would do it."""
    copy: Path = shutil.copytree(ROOT, folder / "carob", ignore=LEFT_OUT, copy_function=os.link, symlinks=True)
    catalog = copy / "src/carob/features/catalog.py"
    text = catalog.read_text()
    catalog.unlink()  # a link to ours
    for name in features:
        shutil.rmtree(copy / "src/carob/features" / name)
        assert text.count(f'    "{name}",\n') == (name in NAMES)
        text = text.replace(f'    "{name}",\n', "")
    catalog.write_text(text)
    return copy


def python(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "COV"))}
    environ["PYTHONPATH"] = str(copy / "src")
    return subprocess.run(
        [sys.executable, *arguments], cwd=copy, env=environ, capture_output=True, text=True, check=False
    )


def core_tests(copy: Path) -> list[str]:
    """The arguments of pytest that choose them."""
    files = [path for path in (copy / "tests").rglob("test_*.py") if OF_A_FEATURE.search(path.read_text())]
    about = (copy / "tests/laws/about_features.txt").read_text().splitlines()
    return [
        "--ignore-glob=tests/test_*",  # docs, wheel, recipes: of the whole house
        *(f"--ignore=tests/{folder}" for folder in NOT_OF_THE_CORE),
        *(f"--ignore={path.relative_to(copy)}" for path in files),
        *(f"--deselect=tests/{name}" for name in about if name and not name.startswith("#")),
    ]


def assert_stands(copy: Path, *tests: str) -> None:
    imported = python(copy, "-c", IMPORTS)
    assert imported.returncode == 0, imported.stderr
    where, of_features, *_ = imported.stdout.splitlines()
    assert Path(where).is_relative_to(copy)
    assert [name for name in of_features.split() if not name.endswith(".feature")] == [], "the core loads a feature"
    assert "Test an agent:" in imported.stdout
    ran = python(copy, "-m", "pytest", *tests, *core_tests(copy), "-q", "-p", "no:cacheprovider", "--tb=short")
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
    assert re.search(r"\d{2,} passed", ran.stdout)


@pytest.mark.limit(600)
@pytest.mark.parametrize("features", [("audit",), FOLDERS], ids=["audit", "all"])
def test_the_core_stands_without(features: Sequence[str], tmp_path: Path) -> None:
    assert_stands(copy_without(tmp_path, *features), *SHORT)


@pytest.mark.thorough
@pytest.mark.limit(1200)
@pytest.mark.parametrize("feature", FOLDERS)
def test_the_core_stands_without_each(feature: str, tmp_path: Path) -> None:
    assert_stands(copy_without(tmp_path, feature), *SHORT)


@pytest.mark.thorough
@pytest.mark.limit(7200)
def test_all_of_the_core_stands_alone(tmp_path: Path) -> None:
    assert_stands(copy_without(tmp_path, *FOLDERS), "tests", "-n", "auto", "--dist", "worksteal", "-m", "not thorough")


def test_a_core_that_needs_a_feature_is_found(tmp_path: Path) -> None:
    copy = copy_without(tmp_path, "matrix")
    module = copy / "src/carob/scoring/tally.py"
    text = module.read_text()
    module.unlink()
    module.write_text(text.replace("\nfrom carob.", "\nfrom carob.features.matrix.model import Matrix\nfrom carob.", 1))
    assert "No module named 'carob.features.matrix'" in python(copy, "-c", IMPORTS).stderr


def test_every_feature_is_under_the_contract() -> None:
    """Each is in the catalog and under the contract, and an import that the contract allows has its reason."""
    contract = (ROOT / "pyproject.toml").read_text().partition("Features do not know each other")[2]
    contract = contract.partition("[[tool")[0]
    assert {*re.findall(r'^    "carob\.features\.(\w+)",$', contract, re.MULTILINE)} == {*FOLDERS}
    allowed = re.findall(
        r'^    "carob\.features\.(\w+)\.\*\* -> carob\.features\.(\w+)\.\*\*",( # .+)?$', contract, re.MULTILINE
    )
    assert len(allowed) == contract.count(" -> ") > 0
    assert [row for row in allowed if len(row[2]) < 15] == []


def test_nothing_outside_features_imports_one() -> None:
    """Also where import-linter does not look: the pytest plugin."""
    outside = [path for path in (ROOT / "src").rglob("*.py") if "features" not in path.relative_to(ROOT / "src").parts]
    named = re.compile(r"^\s*(?:from|import) carob\.features\.", re.MULTILINE)
    assert len(outside) > 200
    assert [path for path in outside if named.search(path.read_text())] == []
