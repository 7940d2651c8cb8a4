"""Screenshots and traces that go with a case, and what must not be in them."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

import carob
from carob.features.browser.target import scrub
from carob.targets.base import RunContext, TargetError

from .conftest import IN_A_BROWSER, ask, config_for, opened, waited_in_vain
from .stub import COOKIE, Stub

pytestmark = IN_A_BROWSER


def contents(trace: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(trace) as file:
        assert file.testzip() is None
        return {name: file.read(name) for name in file.namelist()}


async def test_a_screenshot_always_and_a_trace_unless_the_case_passed(stub: Stub, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    context = RunContext(attachments=folder)
    async with opened(stub.url) as target:
        await ask(target, "say hi", context, case_id="a/b c")
    for passed in (False, True):
        kept = context.keep_attached(passed=passed)
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
    assert set(context.keep_attached(passed=False)) == {"screenshot", "playwright trace"}


async def test_a_page_that_is_stuck_does_not_hold_the_case_up(stub: Stub, tmp_path: Path) -> None:
    why = "the page does not respond: one of its scripts may be in an endless loop"
    said = f"no complete answer within {{}} ms: {why} [timeout]"
    options: dict[str, Any] = {"complete": {"busy": "#out"}}
    context = await waited_in_vain(
        stub.url, "/chat?how=busy", "spin", said, lambda: RunContext(attachments=tmp_path), **options
    )
    assert "screenshot" not in context.keep_attached(passed=False)
    assert context.recorder.page_before


@pytest.mark.parametrize("wanted", ["off", pytest.param(None, marks=pytest.mark.thorough)])
async def test_nothing_is_kept_where_nothing_is_wanted(stub: Stub, tmp_path: Path, wanted: str | None) -> None:
    context = RunContext(attachments=tmp_path if wanted else None)
    options: dict[str, Any] = {"screenshots": False} if wanted else {}
    async with opened(stub.url, **options) as target:
        await ask(target, "say hi", context)
    assert context.keep_attached(passed=False) == {}
    assert list(tmp_path.iterdir()) == []


async def test_no_trace_holds_a_secret(stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAT_USER", "mira")
    monkeypatch.setenv("CHAT_WORD", "s3cret-pass")
    monkeypatch.setenv("TOKEN", 'to"ken/zyxwv')
    context = RunContext(attachments=tmp_path)
    steps = [
        {"fill": {"selector": "[name=user]"}, "value": "${CHAT_USER}"},
        {"fill": {"selector": "[name=word]"}, "value": "${CHAT_WORD}", "press": "Enter"},
        {"click": {"text": "Open the chat"}},
    ]
    headers = {"Authorization": "Bearer ${TOKEN}", "X-Key": "${TOKEN}"}
    async with opened(stub.url, "/login", steps=steps, headers=headers, complete={"gone": "Thinking..."}) as target:
        assert (await ask(target, "say hi", context)).final_message == "hi"
    assert any(seen.get("Authorization") == 'Bearer to"ken/zyxwv' for seen in stub.headers)
    files = contents(next(tmp_path.glob("*.zip")))
    everything = b"".join(files.values())
    assert b"/say" in everything, "requests are in the trace"
    assert any(COOKIE in seen.get("Cookie", "") for seen in stub.headers)
    for secret in (b"s3cret-pass", b"zyxwv", b"ticket-0815"):
        assert secret not in everything


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"headers": {"X-Key": "${MAGIC}"}}, id="from-the-environment"),
        pytest.param({"headers": {"X-Key": "open <zyxwv> & shut"}}, id="literal", marks=pytest.mark.thorough),
        pytest.param(
            {"steps": [{"open": "/chat?word=${MAGIC}"}], "chat_box": {"selector": "#no"}, "wait_ms": 4000},
            id="in-an-address",
        ),
    ],
)
async def test_no_report_holds_a_secret(
    stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    monkeypatch.setenv("MAGIC", "open <zyxwv> & shut")
    suite = {"version": "0.3", "cases": [{"id": "one", "prompt": "key", "expected": {"must_say_any": ["sesame"]}}]}
    file = tmp_path / "suite.json"
    file.write_text(json.dumps(suite))
    config = config_for(stub.url, **options)
    result = await carob.arun(file, config, results_dir=tmp_path / "out")
    (record,) = result.records
    assert record.verdict.status in ("FAIL", "ERROR")
    written = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert {path.suffix for path in written} == {".jsonl", ".json", ".md", ".png", ".zip"}
    for path in written:
        parts = contents(path) if path.suffix == ".zip" else {path.name: path.read_bytes()}
        for name, data in parts.items():
            assert b"zyxwv" not in data, (name, data[data.find(b"zyxwv") - 80 :][:160])


@pytest.mark.parametrize(
    "spelled",
    [
        'a/"b" <é>&c',
        "a%2F%22b%22%20%3C%C3%A9%3E%26c",
        "a/%22b%22+%3c%c3%a9%3e&c",
        "a/&quot;b&quot; &lt;é&gt;&amp;c",
        "a&#x2F;&#34;b&#34; &#60;&#xe9;&#62;&amp;c",
        'a/\\"b\\" <\\u00e9>&c',
        'a/\\\\\\"b\\\\\\" <\\\\u00E9>&c',
        "a%252F%2522b%2522%2520%253C%25C3%25A9%253E%2526c",
    ],
)
async def test_a_secret_is_known_however_it_is_spelled(tmp_path: Path, spelled: str) -> None:
    file = tmp_path / "trace.zip"
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("page.html", f"before {spelled} after")
    scrub(file, ['a/"b" <é>&c'])
    assert contents(file) == {"page.html": b"before [removed] after"}
