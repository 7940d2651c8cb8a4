"""What somebody who installs Carob gets, read from the wheel itself."""

from __future__ import annotations

import re
import tomllib
from email.message import Message
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml
from hatchling.build import build_wheel

ROOT = Path(__file__).parents[1]
HOME = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Homepage"]
ADDRESS = f"{HOME}/blob/main/"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        return ZipFile(folder / build_wheel(str(folder)))


@pytest.fixture(scope="module")
def metadata(wheel: ZipFile) -> Message:
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return Parser().parsestr(wheel.read(name).decode())


def test_extras_are_for_users_of_carob(metadata: Message) -> None:
    assert metadata.get_all("Provides-Extra") == [
        "browser",
        "cel",
        "http",
        "langgraph",
        "mcp",
        "otlp",
        "parquet",
        "ray",
        "rouge",
        "sql",
    ]


def test_its_addresses(metadata: Message) -> None:
    urls = dict(entry.split(", ") for entry in metadata.get_all("Project-URL", []))
    assert urls.keys() == {"Homepage", "Documentation", "Changelog", "Issues"}
    for url in urls.values():
        place = url.removeprefix(ADDRESS)
        assert place.startswith(HOME) or (ROOT / place).exists(), url


def test_the_links_of_its_readme_lead_out_of_it(metadata: Message) -> None:
    assert metadata["Description-Content-Type"] == "text/markdown"
    links = re.findall(r"\]\(([^)]*)\)", metadata.get_payload())
    assert len(links) == len(re.findall(r"\]\(", (ROOT / "README.md").read_text())) > 10
    assert [link for link in links if not (ROOT / link.removeprefix(ADDRESS).partition("#")[0]).is_file()] == []
    assert {link.startswith(ADDRESS) for link in links} == {True}


def test_it_holds_the_package_and_its_pytest_plugin(wheel: ZipFile) -> None:
    assert {name.partition("/")[0].partition("-")[0] for name in wheel.namelist()} == {"carob", "carob_pytest"}
    (points,) = [name for name in wheel.namelist() if name.endswith(".dist-info/entry_points.txt")]
    assert "[pytest11]\ncarob = carob_pytest\n" in wheel.read(points).decode()
    assert "carob/py.typed" in wheel.namelist()
    assert b"class CheckKeywords(ExpectedKeywords" in wheel.read("carob/checks/_keywords.pyi")


def test_it_holds_the_files_that_python_reads(wheel: ZipFile) -> None:
    ending = ("toml", "txt", "html", "css", "js", "mjs", "yaml", "pyi")
    kept = {path.relative_to(ROOT / "src").as_posix() for end in ending for path in ROOT.glob(f"src/**/*.{end}")}
    assert "carob/text/words/claims.txt" in kept
    assert kept - set(wheel.namelist()) == set()


def test_it_holds_the_pages_that_help_shows(wheel: ZipFile) -> None:
    folder = "carob/features/help/pages/"
    inside = {name.removeprefix(folder) for name in wheel.namelist() if name.startswith(folder)}
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md")}
    assert inside == {page for page in pages if not page.startswith(("decisions/", "skill/"))}


def test_it_knows_its_commit_and_no_former_name(wheel: ZipFile) -> None:
    assert wheel.filename is not None
    assert Path(wheel.filename).name.startswith("carob-")
    assert re.fullmatch(rb"[0-9a-f]{12}(-dirty)?", wheel.read("carob/COMMIT"))
    assert [name for name in wheel.namelist() if "karat" in name.lower()] == []
    holding = {name for name in wheel.namelist() if b"karat" in wheel.read(name).lower()}
    assert holding == {
        "carob/plugins/project.py",
        "carob/suites/formats/catalog.py",
        "carob/features/help/pages/errors.md",
    }


def test_it_claims_the_pythons_that_ci_runs(metadata: Message) -> None:
    """tests/counterparts/test_release.py installs it on each of them."""
    claimed = [name.rpartition(" ")[2] for name in metadata.get_all("Classifier", []) if ":: 3." in name]
    assert claimed == ["3.11", "3.12", "3.13", "3.14"]
    assert metadata["Requires-Python"] == f">={claimed[0]}"
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    assert workflow["jobs"]["test"]["strategy"]["matrix"]["python"] == claimed
