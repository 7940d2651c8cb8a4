"""The command that installs an extra is one that works for the Carob at hand."""

from __future__ import annotations

import json
from importlib import metadata
from types import SimpleNamespace

import pytest

from carob.system import installing

COMMIT = "0123456789abcdef"


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        pytest.param(None, "install 'carob[http]'", id="index"),
        pytest.param(
            {"url": "https://me:secret@git.example/carob", "vcs_info": {"vcs": "git", "commit_id": COMMIT}},
            f"install 'carob[http] @ git+https://git.example/carob@{COMMIT}'",
            id="repository",
        ),
        pytest.param(
            {"url": "file:///home/me/my%20carob", "dir_info": {"editable": True}},
            "install -e '/home/me/my carob[http]'",
            id="editable",
        ),
        pytest.param(
            {"url": "file:///home/me/carob", "dir_info": {}}, "install '/home/me/carob[http]'", id="folder"
        ),
        pytest.param(
            {"url": "file:///tmp/carob-1-py3-none-any.whl", "archive_info": {}},
            "install 'carob[http] @ file:///tmp/carob-1-py3-none-any.whl'",
            id="wheel",
        ),
    ],
)  # fmt: skip
def test_an_extra_is_installed_from_where_carob_came(
    monkeypatch: pytest.MonkeyPatch, origin: dict[str, object] | None, command: str
) -> None:
    found = SimpleNamespace(read_text=lambda _: None if origin is None else json.dumps(origin))
    monkeypatch.setattr(metadata, "distribution", lambda _: found)
    for pip, tool in ((None, "uv pip"), (object(), "pip")):
        monkeypatch.setattr(installing, "find_spec", lambda _, pip=pip: pip)
        assert installing.install_extra("http") == f"{tool} {command}"
