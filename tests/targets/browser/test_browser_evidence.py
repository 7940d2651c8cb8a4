"""Screenshots and traces that go with a case, and what must not be in them."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from karat.targets.base import RunContext, TargetError

from .conftest import ask, opened
from .stub import COOKIE, Stub

pytestmark = pytest.mark.asyncio(loop_scope="module")


def contents(trace: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(trace) as file:
        assert file.testzip() is None
        return {name: file.read(name) for name in file.namelist()}


async def test_a_screenshot_always_and_a_trace_unless_the_case_passed(stub: Stub, tmp_path: Path) -> None:
    for passed in (True, False):
        folder = tmp_path / f"passed-{passed}"
        context = RunContext(attachments=folder)
        async with opened(stub.url) as target:
            await ask(target, "say hi", context, case_id="a/b c")
        kept = context.kept(passed=passed)
        assert set(kept) == ({"screenshot"} if passed else {"screenshot", "playwright trace"})
        assert all(name.startswith(f"{folder.name}/a-b-c-") for name in kept.values())
        files = sorted(path.suffix for path in folder.iterdir())
        assert files == ([".png"] if passed else [".png", ".zip"])
        assert next(folder.glob("*.png")).read_bytes().startswith(b"\x89PNG")


async def test_a_broken_turn_has_its_evidence_too(stub: Stub, tmp_path: Path) -> None:
    context = RunContext(attachments=tmp_path)
    async with opened(stub.url, failure={"selector": "#oops"}) as target:
        with pytest.raises(TargetError):
            await ask(target, "break it", context)
    files = contents(next(tmp_path.glob("*.zip")))
    assert b"Something broke." in files["trace.trace"]
    assert set(context.kept(passed=False)) == {"screenshot", "playwright trace"}


async def test_a_page_that_is_stuck_does_not_hold_the_case_up(stub: Stub, tmp_path: Path) -> None:
    context = RunContext(attachments=tmp_path)
    async with opened(stub.url, "/chat?how=busy", complete={"busy": "#out"}, wait_ms=1500) as target:
        with pytest.raises(TargetError, match="no complete answer"):
            await ask(target, "spin", context)
    assert "screenshot" not in context.kept(passed=False)


@pytest.mark.parametrize("wanted", [None, "off"])
async def test_nothing_is_kept_where_nothing_is_wanted(stub: Stub, tmp_path: Path, wanted: str | None) -> None:
    context = RunContext(attachments=tmp_path if wanted else None)
    options: dict[str, Any] = {"screenshots": False} if wanted else {}
    async with opened(stub.url, **options) as target:
        await ask(target, "say hi", context)
    assert context.kept(passed=False) == {}
    assert list(tmp_path.iterdir()) == []


async def test_no_trace_holds_a_secret(stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAT_USER", "mira")
    monkeypatch.setenv("CHAT_WORD", "s3cret-pass")
    monkeypatch.setenv("TOKEN", 'to"ken/4711')
    context = RunContext(attachments=tmp_path)
    steps = [
        {"fill": {"selector": "[name=user]"}, "value": "${CHAT_USER}"},
        {"fill": {"selector": "[name=word]"}, "value": "${CHAT_WORD}", "press": "Enter"},
        {"click": {"text": "Open the chat"}},
    ]
    headers = {"Authorization": "Bearer ${TOKEN}", "X-Key": "${TOKEN}"}
    async with opened(stub.url, "/login", steps=steps, headers=headers, complete={"gone": "Thinking..."}) as target:
        assert (await ask(target, "say hi", context)).final_message == "hi"
    assert any(seen.get("Authorization") == 'Bearer to"ken/4711' for seen in stub.headers)
    files = contents(next(tmp_path.glob("*.zip")))
    everything = b"".join(files.values())
    assert b"/say" in everything, "requests are in the trace"
    assert any(COOKIE in seen.get("Cookie", "") for seen in stub.headers)
    for secret in (b"s3cret-pass", b"4711", b"0815"):
        assert secret not in everything
