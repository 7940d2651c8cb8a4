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
MODULE = """
import click
from msgspec import Struct
from carob import Command, Feature, SuiteFormat, TargetKind

class Settings(Struct, forbid_unknown_fields=True):
    tone: str = "plain"

@click.command()
def command():
    click.echo("good morning")

FEATURE = Feature(
    name="manners",
    summary="keeps an agent polite",
    commands=(Command("greet", "Manners", "Say good morning.", "manners:command"),),
    targets=(TargetKind("parrot", "carob_manners.target:Parrot", "parrot:Hello"),),
    formats=(SuiteFormat("playbook", "carob_manners.format:Playbook"),),
    checks=("carob_manners.check:MaxExclamations",),
    reports={"tsv": "carob_manners.report:TsvReport"},
    settings={"greeting": "manners:Settings"},
)
"""


@pytest.fixture
def project(tmp_path: Path, installs: Installs, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in which the example package of this repository is installed as a feature."""
    (tmp_path / "manners.py").write_text(MODULE)
    (tmp_path / ".git").mkdir()
    (tmp_path / "carob.toml").write_text('[greeting]\ntone = "warm"\n')
    for folder in (tmp_path, ROOT / "examples/plugin"):
        monkeypatch.syspath_prepend(folder)
    monkeypatch.chdir(tmp_path)
    installs("carob.features", ("manners", "manners:FEATURE"))
    return tmp_path


@pytest.mark.usefixtures("project")
def test_its_command_is_listed_and_runs(carob: Carob) -> None:
    assert "\nManners:\n  greet " in carob("--help").out
    assert carob("greet").out == "good morning\n"
    assert "Did you mean 'greet'?" in carob("gret").err


def test_its_check_target_format_and_report(project: Path) -> None:
    suite = ROOT / "examples/plugin/returns.yaml"
    done = library.run(suite, "parrot:Hello", results_dir="results", reports=["tsv"], workers=0)
    assert {check.name for record in done for check in record.case.checks} >= {"max_exclamations"}
    assert done.summary.total > 0
    assert [*project.glob("results/*.tsv")]


@pytest.mark.usefixtures("project")
def test_its_table_of_carob_toml(carob: Carob) -> None:
    assert read_settings(find_project(), "greeting").tone == "warm"
    Path("suite.yaml").write_text("carob: 1\ncases: [{id: a, prompt: hi, expected: {must_say_any: [hi]}}]\n")
    assert carob("run", "suite.yaml", "--target", "parrot:Hello", "--workers", "0").code == 0
    Path("carob.toml").write_text("[greetings]\n")
    assert "greetings" in carob("run", "suite.yaml", "--target", "parrot:Hello").err


@pytest.mark.usefixtures("project")
def test_a_wrong_table_is_refused_at_its_line() -> None:
    Path("carob.toml").write_text("[greeting]\ntome = 1\n")
    with pytest.raises(ConfigError, match=r"carob\.toml:2.*tome"):
        read_settings(find_project(), "greeting")
    Path("carob.toml").write_text("greeting = 1\n")
    with pytest.raises(ConfigError, match="is not a table"):
        read_settings(find_project(), "greeting")


def test_what_is_not_a_feature_is_refused(installs: Installs) -> None:
    installs("carob.features", ("path", "pathlib:Path"))
    with pytest.raises(ConfigError, match=r"entry point 'path' of carob\.features: it is not a carob\.Feature"):
        all_features()


def test_every_place_that_a_feature_of_ours_names_can_be_loaded() -> None:
    features = own_features()
    assert len({feature.name for feature in features}) == len(features) > 10
    for feature in features:
        assert feature.summary
        rows = (*feature.commands, *feature.targets, *feature.formats, *feature.pages, *feature.mcp_tools)
        maps = (feature.target_wrappers, feature.reports, feature.library, feature.services)
        places = (*(row.loads for row in rows), *feature.checks, *feature.recordings)
        for place in (*places, *(p for m in maps for p in m.values())):
            assert load(place), place
        for place in feature.settings.values():
            assert issubclass(load(place), msgspec.Struct)
