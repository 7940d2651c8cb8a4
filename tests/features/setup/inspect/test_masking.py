"""What `carob init --inspect` shows has no password of an address in it; the target that it writes names a variable."""

from __future__ import annotations

from pathlib import Path

import pytest

from carob.features.setup import library
from carob.features.setup.inspect.inspection import Inspection, Observation, without_passwords
from cli.support import Carob
from targets.http.server import constantly, http, serving


def inspection(use: str, *seen: str, **options: object) -> Inspection:
    return Inspection("my-bot", {"use": use, **options}, (Observation("gives", seen),), None, f"{use} broke")


@pytest.mark.parametrize(
    ("use", "shown"),
    [
        ("https://bob:hunter2@host/chat", "https://bob:${MY_BOT_PASSWORD}@host/chat"),
        ("browser:https://bob:hunter2@host/", "browser:https://bob:${MY_BOT_PASSWORD}@host/"),
        ("https://hunter2@host", "https://${MY_BOT_PASSWORD}@host"),
        ("https://:hunter2@host", "https://:${MY_BOT_PASSWORD}@host"),
    ],
)
def test_a_password_becomes_a_variable(use: str, shown: str) -> None:
    found = without_passwords(inspection(use, "you sent hunter2 and hunte…", health=f"{use}/health"))
    assert found.table == {"use": shown, "health": f"{shown}/health"}
    assert found.sightings == (
        Observation("gives", ("you sent [removed] and [removed]…",)),
        Observation("a password", ("is not shown: set MY_BOT_PASSWORD in the environment",)),
    )
    assert "hunter2" not in found.problem


@pytest.mark.parametrize("use", ["https://host/chat?mail=a@b", "https://bob:${PASSWORD}@host", "langgraph:a.py:graph"])
def test_what_has_none_stays(use: str) -> None:
    given = inspection(use, "hello")
    assert without_passwords(given) is given


def test_several_have_several_names() -> None:
    found = without_passwords(inspection("https://a:first@x", start=["https://b:second@y", "https://a:first@x"]))
    assert found.table == {
        "use": "https://a:${MY_BOT_PASSWORD}@x",
        "start": ["https://b:${MY_BOT_PASSWORD_2}@y", "https://a:${MY_BOT_PASSWORD}@x"],
    }


async def test_an_inspection_of_a_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with serving(constantly(http('{"reply": "you are bob, hunter2"}'))) as server:
        found = await library.ainspect(
            server.url.replace("://", "://bob:hunter2@"), prompt="Hi", kind="http", name="bot"
        )
    assert found.works, found.problem
    assert "${BOT_PASSWORD}@" in found.toml
    assert "hunter2" not in f"{found}"


def test_an_address_that_does_not_respond(carob: Carob) -> None:
    ran = carob("init", "--inspect", "http://bob:hunter2@127.0.0.1:9/")
    assert ran.code != 0
    assert "does not respond" in ran.err
    assert "hunter2" not in ran.err + ran.out
