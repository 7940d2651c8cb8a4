"""Lines of the files that `carob init` writes, and how an answer is streamed where the service does not say it."""

from __future__ import annotations

from typing import Any

import pytest

from carob.features.setup.inspect.services import stream_format
from carob.features.setup.survey.findings import FoundServer
from carob.features.setup.write import texts


@pytest.mark.parametrize(
    ("kind", "data", "form"),
    [
        ("text/event-stream", b"", "sse"),
        ("text/plain", b"event: a\ndata: {}\n\ndata: {}\n", "sse"),
        ("text/plain", b"data: {}\nso it says\n", None),
        ("application/json", b'{"answer": "a"}', None),
        ("application/json", b'[{"a": 1}, {"a": 2}]', "json"),
        ("application/json", b"[1, 2]", None),
        ("text/plain", b"Hello", None),
        ("text/plain", b"", None),
    ],
)
def test_a_stream_is_known_by_how_it_looks(kind: str, data: bytes, form: str | None) -> None:
    assert stream_format(kind, data) == form


def test_a_server_is_named_by_its_address_without_its_secrets() -> None:
    line = "\n".join(texts._server_lines(FoundServer("desk", "mcp.json", url="http://me:key@desk.example/mcp?token=k")))
    assert 'mcp_record = "http://desk.example/mcp"' in line
    assert "key" not in line.replace("CAROB_MCP_URL", "")
    started = "\n".join(texts._server_lines(FoundServer("desk", "mcp.json", command="run --key k")))
    assert "carob tape stdio desk -- COMMAND" in started
    assert "--key" not in started


VCS = {"url": "https://git.example/carob", "vcs_info": {"vcs": "git", "commit_id": "abc"}}


@pytest.mark.parametrize(
    ("origin", "line"),
    [
        ({}, f"pip install \"carob[http]=={texts.__version__}\""),
        (VCS, 'pip install "carob[http] @ git+https://git.example/carob@abc"'),
        ({"url": "file:///home/me/carob", "dir_info": {}}, 'pip install "${CAROB_PACKAGE:?'),
    ],
)  # fmt: skip
def test_a_workflow_installs_carob_from_where_it_came(
    origin: dict[str, Any], line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "read_origin", lambda: origin)
    monkeypatch.setattr("carob.system.installing.read_origin", lambda: origin)
    written = "\n".join(texts._install_carob("http"))
    assert line in written
    assert "/home/me" not in written
