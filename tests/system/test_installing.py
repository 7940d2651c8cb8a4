"""The command that installs an extra is one that works for the Karat at hand."""

from __future__ import annotations

import json
from importlib import metadata
from types import SimpleNamespace

import pytest

from karat.system import installing

COMMIT = "0123456789abcdef"


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        pytest.param(None, "install 'karat[http]'", id="index"),
        pytest.param(
            {"url": "https://me:secret@git.example/karat", "vcs_info": {"vcs": "git", "commit_id": COMMIT}},
            f"install 'karat[http] @ git+https://git.example/karat@{COMMIT}'",
            id="repository",
        ),
        pytest.param(
            {"url": "file:///home/me/my%20karat", "dir_info": {"editable": True}},
            "install -e '/home/me/my karat[http]'",
            id="editable",
        ),
        pytest.param(
            {"url": "file:///home/me/karat", "dir_info": {}}, "install '/home/me/karat[http]'", id="folder"
        ),
        pytest.param(
            {"url": "file:///tmp/karat-1-py3-none-any.whl", "archive_info": {}},
            "install 'karat[http] @ file:///tmp/karat-1-py3-none-any.whl'",
            id="wheel",
        ),
    ],
)  # fmt: skip
def test_an_extra_is_installed_from_where_karat_came(
    monkeypatch: pytest.MonkeyPatch, origin: dict[str, object] | None, command: str
) -> None:
    found = SimpleNamespace(read_text=lambda _: None if origin is None else json.dumps(origin))
    monkeypatch.setattr(metadata, "distribution", lambda _: found)
    for pip, tool in ((None, "uv pip"), (object(), "pip")):
        monkeypatch.setattr(installing, "find_spec", lambda _, pip=pip: pip)
        assert installing.install_extra("http") == f"{tool} {command}"
