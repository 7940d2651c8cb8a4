"""What an app is given before the first prompt, and what is done about what it opens by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from carob.errors import ConfigError

from .conftest import IN_A_BROWSER, ask, opened, waited_in_vain
from .stub import Stub

pytestmark = IN_A_BROWSER

BOT = {"selector": ".bot"}
SHOW = "at('go').onclick = () => bubble('bot', {});"
"""The page answers with what an expression gives."""
ACCEPT: dict[str, Any] = {"steps": [{"when": {"selector": "#fine"}, "click": {"selector": "#fine"}}]}
BANNER = """
const banner = document.createElement("div");
banner.style = "position: fixed; inset: 0; background: white";
banner.innerHTML = "<button id=fine>Fine</button>";
banner.querySelector("#fine").onclick = () => banner.remove();
"""


@pytest.mark.parametrize(
    ("options", "expression", "shown"),
    [
        pytest.param(
            {
                "local_storage": {"name": "${WHO}", "talk": "{session}"},
                "session": "s1",
                "cookies": {"name": "Mona"},
                "init_script": "window.early = 'yes'",
            },
            "[localStorage.name, localStorage.talk, document.cookie, window.early].join(' ')",
            "Mira s1 name=Mona yes",
            id="storage-cookie-script",
        ),
        pytest.param({"init_script": "early.js"}, "window.early", "from a file", id="script-file"),
    ],
)
async def test_what_the_app_finds(
    stub: Stub,
    options: dict[str, Any],
    expression: str,
    shown: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WHO", "Mira")
    (tmp_path / "early.js").write_text("window.early = 'from a file'")
    stub.script = SHOW.format(expression)
    async with opened(stub.url, root=tmp_path, answer=BOT, **options) as target:
        assert (await ask(target, "what is there?")).final_message == shown


async def test_what_the_app_keeps_is_not_put_back(stub: Stub) -> None:
    stub.script = "localStorage.count = Number(localStorage.count) + 1;" + SHOW.format("localStorage.count")
    options: dict[str, Any] = {"local_storage": {"count": "5"}, "steps": [{"open": "/chat"}]}
    async with opened(stub.url, answer=BOT, **options) as target:
        assert (await ask(target, "how many?")).final_message == "7", "two pages were opened"


async def test_a_script_that_is_not_there(stub: Stub, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        async with opened(stub.url, root=tmp_path, init_script="none.js"):
            pytest.fail("it opened")
    assert str(caught.value) == (
        f"{tmp_path / 'none.js'}: `init_script` cannot be read: No such file or directory. Name a file of JavaScript. "
        "[config]"
    )


@pytest.mark.parametrize(
    ("script", "options"),
    [
        pytest.param(
            "document.body.append(banner)",
            {"steps": [{"when": {"selector": "#fine"}, "click": {"selector": "#fine"}}]},
            id="a-step-for-what-shows",
        ),
        pytest.param("document.body.append(banner)", {"dismiss": [{"selector": "#fine"}]}, id="dismissed"),
        pytest.param(
            "at('in').oninput = () => document.body.append(banner)",
            {"dismiss": [{"selector": "#fine"}]},
            id="dismissed-whenever-it-comes",
        ),
        pytest.param(
            "at('title').onmouseenter = () => { at('in').disabled = false }; at('in').disabled = true",
            {
                "steps": [
                    {"when": {"selector": "#fine"}, "click": {"selector": "#fine"}},
                    {"hover": {"selector": "#title"}},
                ],
                "dismiss": [{"selector": "#fine"}],
            },
            id="hover-and-nothing-to-dismiss",
        ),
    ],
)
async def test_what_stands_in_the_way(stub: Stub, script: str, options: dict[str, Any]) -> None:
    stub.script = BANNER + script
    async with opened(stub.url, answer=BOT, **options) as target:
        assert (await ask(target, "say hi")).final_message == "hi"


async def test_without_being_dismissed_it_stays_in_the_way(stub: Stub) -> None:
    stub.script = BANNER + "document.body.append(banner)"
    said = (
        "no complete answer within {} ms: the prompt was not sent, because #go could not be clicked; if something is "
        "in the way, name it in `dismiss` or `steps` [timeout]"
    )
    await waited_in_vain(stub.url, "/chat", "say hi", said, answer=BOT)
