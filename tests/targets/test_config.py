from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from carob.errors import ConfigError, ExitCode
from carob.model.suite import Case
from carob.model.trace import Trace
from carob.plugins.project import find_project
from carob.targets import catalog
from carob.targets.base import RunContext
from carob.targets.capabilities import Limits
from carob.targets.config import Config, TargetConfig, parse_rate, read_config, read_options, resolve
from packages import Installs

FULL = """
target = "dyno"
results_dir = "out"
secrets = ["API_KEY"]

[targets.dyno]
use = "python:agent:answer"
timeout = 30
turn_timeout = 2.5
python_path = ["src"]
env = { MODEL = "m" }
setup = "hooks:reset"
teardown = "hooks:clean"
max_concurrency = 2
rate = "30/min"
options = { depth = 3 }

[targets.dyno.ui_vocabulary]
"A tile is visible." = [{ role = "heading" }]
"""


def write(directory: Path, text: str, name: str = "carob.toml") -> Path:
    file = directory / name
    file.write_text(text)
    return file


def test_everything(tmp_path: Path) -> None:
    file = write(tmp_path, FULL)
    config = read_config(find_project(tmp_path))
    assert (config.file, config.target, config.results_dir, config.secrets) == (
        file,
        "dyno",
        tmp_path / "out",
        ("API_KEY",),
    )
    assert resolve("dyno", config, Path("/elsewhere")) == TargetConfig(
        kind="python",
        spec="agent:answer",
        name="dyno",
        root=tmp_path,
        folder=tmp_path,
        file=file,
        timeout=30,
        turn_timeout=2.5,
        python_path=("src",),
        env={"MODEL": "m"},
        setup="hooks:reset",
        teardown="hooks:clean",
        ui_vocabulary={"A tile is visible.": [{"role": "heading"}]},
        limits=Limits(2, 30),
        options={"depth": 3},
    )


A = "[targets.a]\nuse = 'python:m:f'\n"


def test_the_nearest_upward_counts(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert read_config(find_project(inner)) == Config(project=find_project(inner))
    write(tmp_path, "[tool.carob]\ntarget = 'command:outer'\n", "pyproject.toml")
    assert read_config(find_project(inner)).target == "command:outer"
    write(inner, "[tool.other]\n", "pyproject.toml")
    assert read_config(find_project(inner)).target == "command:outer", "a pyproject without [tool.carob] says nothing"
    write(inner, "broken = \n", "pyproject.toml")
    assert read_config(find_project(inner)).target == "command:outer", "nor does one that is broken and not about Carob"
    write(tmp_path / "a", "target = 'command:toml'\n")
    assert read_config(find_project(inner)).target == "command:toml"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("targe = 'x'", ":2: unknown key 'targe'. Did you mean 'target'?", id="top"),
        pytest.param(
            f"{A}store = 'memory'",
            ":4: unknown key 'store'. If it is an option of this kind of target, put",
            id="option",
        ),
        pytest.param(f"{A}time_out = 3", ":4: unknown key 'time_out'. Did you mean 'timeout'?", id="target"),
        pytest.param(f"{A}timeout = 'x'", ":4: `targets.a.timeout`: Expected `float | null`, got `str`.", id="type"),
        pytest.param(f"{A}timeout = 0", ":4: `targets.a.timeout`: Expected `float` > 0.0", id="zero"),
        pytest.param(f"{A}timeout = inf", ":4: `targets.a.timeout`: Expected `float` <= 1000000000.0", id="endless"),
        pytest.param(f"{A}env = {{ A = 1 }}", ":4: `targets.a.env[...]`: Expected `str`, got `int`", id="env"),
        pytest.param("[targets.a]\ntimeout = 3", ": `targets.a`: Object missing required field `use`", id="no-use"),
        pytest.param("[targets.a]\nuse = 'agent'", ":3: 'agent' is not a target", id="no-kind"),
        pytest.param("target = 'aa'\n" + A, ":2: `target` names 'aa', which is not under [targets].", id="default"),
        pytest.param(f"{A}rate = 'fast'", ":4: 'fast' is not a rate", id="rate"),
        pytest.param("targets = 3", ":2: `targets`: Expected `object`, got `int`", id="no-table"),
        pytest.param("target = ", ": it is not TOML: ", id="toml"),
        pytest.param("a = 1\na = 2", ": it is not TOML: ", id="twice"),
    ],
)
@pytest.mark.parametrize(("name", "head"), [("carob.toml", "# first line"), ("pyproject.toml", "[tool.carob]")])
def test_problems(tmp_path: Path, text: str, message: str, name: str, head: str) -> None:
    table = "[tool.carob.targets" if name == "pyproject.toml" else "[targets"
    file = write(tmp_path, f"{head}\n{text}".replace("[targets", table), name)
    with pytest.raises(ConfigError) as caught:
        read_config(find_project(tmp_path))
    place = f"{file}{message}" if message.startswith(":") else str(file)
    assert str(caught.value).replace("tool.carob.", "").startswith(place)
    assert message in str(caught.value).replace("tool.carob.", "")
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == ExitCode.USAGE


def test_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "carob.toml").write_bytes(b"a = '\xff'")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_config(find_project(tmp_path))


def test_resolving_a_spec(tmp_path: Path) -> None:
    resolved = resolve("command:./agent --flag a:b", Config(), tmp_path)
    assert (resolved.kind, resolved.spec, resolved.root, resolved.use) == (
        "command",
        "./agent --flag a:b",
        tmp_path,
        "command:./agent --flag a:b",
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dino", "there is no target 'dino' (configured: 'dyno'). Did you mean 'dyno'? [unknown-target]"),
        ("zzz", "Write it as 'python:module:function'"),
        (":x", "there is no target ':x'"),
        ("python:", "there is no target 'python:'"),
    ],
)
def test_names_that_are_not_there(name: str, message: str) -> None:
    config = Config(targets={"dyno": TargetConfig(kind="python", spec="m:f")})
    with pytest.raises(ConfigError) as caught:
        resolve(name, config, Path())
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "per_minute"), [("30/min", 30), (" 5 / s ", 300), ("120/hour", 2), ("1/Minute", 1), ("90/h", 1.5)]
)
def test_rates(text: str, per_minute: float) -> None:
    assert parse_rate(text) == per_minute


@pytest.mark.parametrize("text", ["", "30", "0/min", "-1/min", "1.5/min", "3/week", "x/min"])
def test_no_rates(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a rate"):
        parse_rate(text)


def test_identity() -> None:
    base = TargetConfig(kind="python", spec="m:f")
    assert base.identity == {"use": "python:m:f"}
    secret = TargetConfig(kind="python", spec="m:f", env={"KEY": "hunter2"}, timeout=3, options={"a": 1})
    assert "hunter2" not in str(secret.identity)
    other = TargetConfig(kind="python", spec="m:f", env={"KEY": "hunter3"}, timeout=9, options={"a": 1})
    assert secret.identity != other.identity
    for table in ("headers", "cookies", "start_env"):
        first, two = (
            TargetConfig(kind="browser", spec="x", options={table: {"Key": key}}).identity
            for key in ("hunter2", "hunter3")
        )
        assert "hunter2" not in str(first)
        assert first != two
    assert msgspec.structs.replace(other, env=secret.env).identity == secret.identity, "a timeout changes no answer"


class Depth(msgspec.Struct, forbid_unknown_fields=True):
    depth: int = 1


def test_options() -> None:
    def config(**options: Any) -> TargetConfig:
        return TargetConfig(kind="graph", spec="x", options=options)

    assert read_options(config(depth=3), Depth).depth == 3
    with pytest.raises(ConfigError, match=r"unknown option 'dept' of a target of kind 'graph'. Did you mean 'depth'\?"):
        read_options(config(dept=3), Depth)
    with pytest.raises(ConfigError, match="Expected `int`, got `str`"):
        read_options(config(depth="x"), Depth)


def test_an_unknown_kind() -> None:
    with pytest.raises(ConfigError) as caught:
        catalog.build(TargetConfig(kind="pyton", spec="m:f"))
    known = ", ".join(kind.name for kind in catalog.target_kinds())
    assert f"there is no kind of target 'pyton' (known: {known}" in str(caught.value)
    assert "Did you mean 'python'?" in str(caught.value)


@pytest.mark.parametrize("kind", [*catalog.target_kinds()], ids=lambda kind: kind.name)
def test_every_kind_of_the_catalog_can_be_built(kind: catalog.Kind) -> None:
    target = catalog.build(resolve(kind.example, Config(), Path()))
    assert target.options["use"] == kind.example
    assert (target.limits.max_concurrency, target.limits.max_workers) == (None, None)
    assert target.limits.max_per_worker is None or "name a function that makes one" in target.limits.why


class Outside:
    """A target of another package."""

    limits = Limits(1)

    def __init__(self, config: TargetConfig) -> None:
        self.options = {"outside": config.spec}

    async def open(self) -> None: ...

    async def run(self, case: Case, context: RunContext) -> Trace:
        raise NotImplementedError

    async def close(self) -> None: ...


def test_entry_points(installs: Installs) -> None:
    installs("carob.targets", ("outside", f"{__name__}:Outside"), ("bad", "no_such:X"))
    target = catalog.build(TargetConfig(kind="outside", spec="s"))
    assert (target.options, target.limits) == ({"outside": "s"}, Limits(1))
    with pytest.raises(ConfigError, match=r"entry point 'bad' of carob.targets: cannot be loaded: ModuleNotFoundError"):
        catalog.build(TargetConfig(kind="bad", spec="s"))
