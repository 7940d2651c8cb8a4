"""A feature of another package plugs in as Carob's own do."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

import carob as library
from carob.errors import ConfigError
from carob.plugins.features import all_features, load, own_features
from carob.plugins.project import find_project, read_settings
from cli.fixtures import carob
from cli.support import Carob
from packages import Installs

__all__ = ["carob"]
ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "examples/feature_package"


@pytest.fixture
def project(tmp_path: Path, installs: Installs, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in which the example package of this repository is installed as a feature."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "carob.toml").write_text("[manners]\nmost = 2\n")
    monkeypatch.syspath_prepend(PACKAGE)
    monkeypatch.chdir(tmp_path)
    installs("carob.features", ("manners", "carob_manners.feature:FEATURE"))
    return tmp_path


@pytest.mark.usefixtures("project")
def test_its_command_is_listed_and_runs(carob: Carob) -> None:
    assert "\nManners:\n  manners " in carob("--help").out
    assert "Show the loudest answers" in carob("manners", "--help").out
    assert "Did you mean 'manners'?" in carob("maners").err


def test_its_check_target_format_and_report(project: Path) -> None:
    suite = PACKAGE / "returns.yaml"
    done = library.run(suite, "parrot:Hello", results_dir="results", reports=["tsv"], workers=0)
    assert {check.name for record in done for check in record.case.checks} >= {"max_exclamations"}
    assert done.summary.total > 0
    assert [*project.glob("results/*.tsv")]


@pytest.mark.usefixtures("project")
def test_its_table_of_carob_toml(carob: Carob) -> None:
    assert read_settings(find_project(), "manners").most == 2
    Path("suite.yaml").write_text("carob: 1\ncases: [{id: a, prompt: hi, expected: {must_say_any: [hi]}}]\n")
    assert carob("run", "suite.yaml", "--target", "parrot:Hello", "--workers", "0").code == 0
    Path("carob.toml").write_text("[mannerss]\n")
    assert "mannerss" in carob("run", "suite.yaml", "--target", "parrot:Hello").err


@pytest.mark.usefixtures("project")
def test_a_wrong_table_is_refused_at_its_line() -> None:
    Path("carob.toml").write_text("[manners]\nmust = 1\n")
    with pytest.raises(ConfigError, match=r"carob\.toml:2.*must"):
        read_settings(find_project(), "manners")
    Path("carob.toml").write_text("manners = 1\n")
    with pytest.raises(ConfigError, match="is not a table"):
        read_settings(find_project(), "manners")


@pytest.mark.usefixtures("project")
def test_its_public_name_and_what_is_none() -> None:
    assert library.loud_answers.__module__ == "carob_manners.loudness"
    with pytest.raises(AttributeError, match="has no attribute 'loud_answer'"):
        library.loud_answer  # noqa: B018


def test_what_is_not_a_feature_is_refused(installs: Installs) -> None:
    installs("carob.features", ("path", "pathlib:Path"))
    with pytest.raises(ConfigError, match=r"entry point 'path' of carob\.features: it is not a carob\.Feature"):
        [*all_features()]


def test_every_place_that_a_feature_of_ours_names_can_be_loaded() -> None:
    features = own_features()
    assert len({feature.name for feature in features}) == len(features) > 10
    for feature in features:
        assert feature.summary
        rows = (
            *feature.commands,
            *feature.targets,
            *feature.formats,
            *feature.checks,
            *feature.pages,
            *feature.case_parts,
        )
        maps = (feature.target_wrappers, feature.reports, feature.library, feature.services)
        places = [row.loads for row in (*rows, *feature.mcp_tools, *feature.recordings)]
        places += [page.writes for page in feature.pages if page.writes]
        for place in (*places, *(p for m in maps for p in m.values())):
            assert load(place), place
        for place in feature.settings.values():
            assert issubclass(load(place), msgspec.Struct)
