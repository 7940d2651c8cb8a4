"""Whole runs over HTTP: a configuration that lets nobody in is told once, and no artifact holds a secret."""

from __future__ import annotations

import asyncio
import json
import ssl
from pathlib import Path

import pytest

import carob
from carob.errors import ExitCode

from .server import Asked, constantly, http, serving

SECRET = "sk-very-secret-4711"
TABLE = """
[targets.bot]
use = "{url}"
headers = {{ Authorization = "Bearer ${{BOT_KEY}}", X-Tenant = "acme" }}
body = {{ message = "{{prompt}}", key = "${{BOT_KEY}}" }}
answer = "$.reply"
"""


def suite(folder: Path, cases: int) -> Path:
    file = folder / "suite.json"
    each = [{"id": f"c{n}", "prompt": f"say {n}", "expected": {"must_say_any": [str(n)]}} for n in range(cases)]
    file.write_text(json.dumps({"version": "0.3", "cases": each}))
    return file


@pytest.mark.parametrize("workers", [0, 2])
async def test_who_is_not_let_in_is_told_once(workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(http(f"no such key {SECRET}", status="401 Unauthorized"))

    monkeypatch.setenv("BOT_KEY", SECRET)
    monkeypatch.chdir(tmp_path)
    async with serving(answer) as server:
        (tmp_path / "carob.toml").write_text(TABLE.format(url=server.url))
        result = await carob.arun(suite(tmp_path, 500), "bot", workers=workers, concurrency=2, retries=3)
    message = f"no case can be run: {tmp_path / 'carob.toml'}:3: POST {server.url} answered 401 Unauthorized"
    assert result.summary.incomplete.startswith(message)
    assert (result.exit_code, result.summary.error, result.summary.total) == (ExitCode.USAGE, 0, 0)
    assert len(server.asked) <= 20
    written = [file.read_text() for file in tmp_path.rglob("*") if file.is_file()]
    assert written
    assert not any(SECRET in text for text in written)


async def test_an_answer_with_the_secret_is_kept_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        assert asked.json["key"] == SECRET
        number = asked.json["message"].removeprefix("say ")
        writer.write(http(json.dumps({"reply": f"{number}, by {asked.headers['authorization']}"})))

    monkeypatch.setenv("BOT_KEY", SECRET)
    monkeypatch.chdir(tmp_path)
    async with serving(answer) as server:
        (tmp_path / "carob.toml").write_text(TABLE.format(url=server.url))
        result = await carob.arun(suite(tmp_path, 3), "bot", concurrency=3)
    assert (result.exit_code, result.summary.passed) == (ExitCode.OK, 3)
    assert not any(SECRET in file.read_text() for file in tmp_path.rglob("*") if file.is_file())


SELF_SIGNED = Path(__file__).with_name("self_signed.pem")


@pytest.mark.parametrize(
    ("ca", "message"),
    [
        pytest.param("", "is not trusted", id="nobody-vouches"),
        pytest.param(f'ca = "{SELF_SIGNED}"', "", id="an-authority-that-is-named"),
    ],
)
async def test_a_server_that_nobody_vouches_for_is_told_nothing(
    ca: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOT_KEY", SECRET)
    monkeypatch.chdir(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(SELF_SIGNED)
    answer = constantly(http(json.dumps({"reply": "0, 1, 2"})))
    async with serving(answer, tls) as server:
        (tmp_path / "carob.toml").write_text(TABLE.format(url=server.url) + ca)
        result = await carob.arun(suite(tmp_path, 3), "bot")
    if not message:
        assert (result.exit_code, len(server.asked)) == (ExitCode.OK, 3)
        return
    assert (result.exit_code, server.asked) == (ExitCode.USAGE, [])
    (line,) = result.summary.incomplete.splitlines()
    assert f"{tmp_path / 'carob.toml'}:3: " in line
    assert message in line
