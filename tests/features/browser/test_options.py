"""Options that are refused, limits that are declared, browsers that are found or not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from carob.errors import ConfigError
from carob.features.browser import environment
from carob.features.browser.environment import BrowserEnvironment
from carob.features.browser.options import BrowserOptions
from carob.features.browser.target import NO_FIELD, ONE_SESSION, BrowserTarget
from carob.plugins.project import find_project
from carob.system.installing import install_extra
from carob.targets.capabilities import Limits
from carob.targets.config import TargetConfig, read_config, resolve

ROOT = Path(__file__).parents[3]


NO_END = "`complete.event` needs a line to wait for. Set `telemetry.end_event`. [bad-options]"
UNTOLD_SESSION = (
    "`telemetry.correlation_field` is set, but nothing passes the conversation to the app. Set `session_query`, or "
    "write {session} into a header, a cookie or an address. [bad-options]"
)


def target(spec: str = "http://127.0.0.1:1", **options: Any) -> BrowserTarget:
    return BrowserTarget(TargetConfig(kind="browser", spec=spec, options=options, limits=Limits(4)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(
            {"chatbox": {}},
            "unknown option 'chatbox' of a target of kind 'browser'. Did you mean 'chat_box'? [unknown-option]",
            id="unknown",
        ),
        pytest.param(
            {"complete": {"buzy": "x"}},
            "unknown option 'buzy' of a target of kind 'browser'. [unknown-option]",
            id="unknown-inside",
        ),
        pytest.param({"complete": {"event": True}}, NO_END, id="event-without-name"),
        pytest.param(
            {"wait_ms": 0},
            "Expected `int` >= 1 - at `$.wait_ms`, in the options of a target of kind 'browser'. [unknown-option]",
            id="no-time",
        ),
        pytest.param(
            {"telemetry": {"log": "x", "failure": [{}]}},
            "an entry of `telemetry.failure` matches every line. Give it at least one of source, event, "
            "level and text. "
            "[bad-options]",
            id="failure-without-a-sign",
        ),
        pytest.param({"telemetry": {"log": "x", "correlation_field": "id"}}, UNTOLD_SESSION, id="session-not-told"),
    ],
)
def test_options_that_cannot_be_followed(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        target(**options)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("options", "limit", "why"),
    [
        pytest.param({}, 4, "", id="no-telemetry"),
        pytest.param({"telemetry": {"log": "x"}}, 1, NO_FIELD, id="telemetry"),
        pytest.param({"telemetry_log": "x"}, 1, NO_FIELD, id="log-alone"),
        pytest.param(
            {"telemetry": {"log": "x", "correlation_field": "id"}, "session_query": "s"}, 4, "", id="correlated"
        ),
        pytest.param({"session_query": "s", "session": "mine"}, 1, ONE_SESSION, id="one-session"),
    ],
)
def test_what_may_run_side_by_side(options: dict[str, Any], limit: int, why: str) -> None:
    assert (target(**options).limits.max_concurrency, target(**options).limits.why) == (limit, why)


@pytest.mark.parametrize(
    ("options", "each"),
    [
        pytest.param({"start": "app {log}"}, 1, id="told-where-to-log"),
        pytest.param({"start": "app", "start_env": {"LOG": "{log}"}, "telemetry": {}}, 1, id="in-its-environment"),
        pytest.param({"start": "app", "telemetry": {"log": "{log}"}}, 1, id="named"),
        pytest.param({"start": "app"}, None, id="no-log"),
        pytest.param({"start": "app {log}", "app_url": "http://127.0.0.1:1"}, None, id="not-started"),
    ],
)
def test_an_app_for_each_worker_takes_one_case_at_a_time(options: dict[str, Any], each: int | None) -> None:
    limits = target(**options).limits
    assert (limits.max_concurrency, limits.max_per_worker, limits.why) == (4, each, NO_FIELD if each else "")


@pytest.mark.parametrize("options", [{"spec": "http://127.0.0.1:1/?s={session}"}, {"space_url": "/{session}"}])
def test_an_address_tells_the_app_the_conversation(options: dict[str, Any]) -> None:
    assert target(**options, telemetry={"log": "x", "correlation_field": "id"}).limits.max_concurrency == 4


@pytest.mark.parametrize(
    "options",
    [
        {"spec": "http://127.0.0.1:1/?key=${CAROB_NOT_SET}"},
        {"app_url": "http://127.0.0.1:1/${CAROB_NOT_SET}"},
        {"space_url": "/${CAROB_NOT_SET}"},
        {"headers": {"X-Key": "${CAROB_NOT_SET}"}},
    ],
)
async def test_a_variable_that_is_not_set_is_told_before_any_case(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        await target(**options).open()
    assert str(caught.value) == "the environment variable CAROB_NOT_SET is not set. Set it before the run. [config]"


async def test_without_playwright_it_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "playwright.async_api", None)
    with pytest.raises(ConfigError) as caught:
        await target().open()
    assert str(caught.value) == f"playwright is not installed. {install_extra('browser')} [no-playwright]"


async def test_an_app_that_was_started_again_meanwhile_is_told() -> None:
    options = BrowserOptions(start="app")
    stage = BrowserEnvironment(TargetConfig(kind="browser", spec="app"), options)
    stage.starts = 2
    assert await stage.why_left(1) == "the app ended, and was started again for another case"
    assert await stage.why_left(2) == ""


def test_the_example_target_runs_side_by_side() -> None:
    canvas = resolve("canvas", read_config(find_project(ROOT)), ROOT)
    assert BrowserTarget(canvas).limits == Limits()


class TestFindingABrowser:
    @pytest.fixture(autouse=True)
    def _path(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))

    @staticmethod
    def put(path: Path) -> str:
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
        return str(path)

    def test_the_configured_one_comes_first(self, tmp_path: Path) -> None:
        self.put(tmp_path / "chromium")
        own = self.put(tmp_path / "mine")
        assert environment.find_browser(own, "/nowhere") == own

    def test_debians_shell_comes_before_the_rest_and_before_playwrights(self, tmp_path: Path) -> None:
        own = self.put(tmp_path / "playwrights")
        assert environment.find_browser("", own) == own
        browser = self.put(tmp_path / "chromium")
        assert environment.find_browser("", own) == browser
        shell = self.put(tmp_path / "chromium-headless-shell")
        assert environment.find_browser("", own) == shell

    @pytest.mark.parametrize(
        ("configured", "message"),
        [("", "no browser was found."), ("/opt/no/such", "there is no browser at /opt/no/such.")],
    )
    def test_none_says_how_to_get_one(self, configured: str, message: str) -> None:
        with pytest.raises(ConfigError) as caught:
            environment.find_browser(configured, "/nowhere")
        assert str(caught.value) == (
            f"{message} On Debian: apt-get install chromium-headless-shell. Elsewhere: playwright install "
            "chromium-headless-shell. [no-browser]"
        )
