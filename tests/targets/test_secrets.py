"""What a target knows that no file may show is known through everything that is put around it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from carob.engine.work import finish_case
from carob.model.run import Item
from carob.model.suite import Case
from carob.model.trace import REMOVED, Trace
from carob.redaction.redactor import Redactor
from carob.targets.base import RunContext
from carob.targets.capabilities import secrets_of
from carob.targets.catalog import build
from carob.targets.config import TargetConfig

AROUND: dict[str, dict[str, Any]] = {
    "nothing": {},
    "span capture": {"telemetry": {"otlp": True}},
    "the MCP recorder": {"mcp_record": "http://127.0.0.1:9/mcp"},
    "both": {"telemetry": {"otlp": True}, "mcp_record": "http://127.0.0.1:9/mcp"},
    "hooks": {"setup": "agent.py:setup"},
}


@pytest.mark.parametrize("around", AROUND)
def test_the_secrets_of_a_target_are_those_of_what_is_around_it(
    around: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOT_KEY", "from-the-environment")
    (tmp_path / "agent.py").write_text("def setup(case): ...\n")
    options = {
        "body": {"q": "{prompt}", "key": "${BOT_KEY}"},
        "answer": "$.a",
        "headers": {
            "X-Api-Key": "literal-key-1234",
            "Authorization": "Bearer literal-token-5678",
            "Accept": "text/plain",
        },
    }
    config = TargetConfig(kind="http", spec="http://bob:hunter2@127.0.0.1:9/", root=tmp_path, options=options)
    known = set(secrets_of(build(structs.replace(config, **AROUND[around]))))
    assert {"from-the-environment", "literal-key-1234", "literal-token-5678", "hunter2"} <= known
    assert "text/plain" not in known


def test_notices_show_no_secret_nor_the_beginning_of_one() -> None:
    context = RunContext(notices=["spans of hush-1234-hush are left out", "such as 'hush-12…'", "and hush-12"])
    trace = Trace(case_id="a", tool_calls=())
    item = Item(0, 0, "", Case(id="a", prompt="p", checks=()))
    done = finish_case(item, trace, 1.0, Redactor(["hush-1234-hush"]), context)
    assert done.notices == (f"spans of {REMOVED} are left out", f"such as '{REMOVED}…'", f"and {REMOVED}")
