"""Whose service it is that answers at a port: it has the paths that the source names, and runs in this project."""

from __future__ import annotations

import json
from collections.abc import Iterable
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

from carob.features.setup.survey.findings import FoundAgent
from carob.system.listeners import Listener, find_listeners
from carob.text.wording import join_words

PATIENCE = 5.0
LARGEST = 4 << 20
OPENAPI = "/openapi.json"
METHODS = ("OPTIONS", "GET", "POST")
"""How a path is looked for, with no body. Only the last one decides: a path may be missing for other methods."""
NOT_FOUND = 404
ABSENT = (NOT_FOUND, 501, 0)


def why_foreign(agent: FoundAgent, folder: Path) -> str:
    """Why what answers at the address of an agent may belong to another project; empty if it is this one's."""
    if agent.is_trusted or not agent.address:
        return ""
    parts = urlsplit(agent.address)
    base = f"{parts.scheme}://{parts.netloc}"
    listeners = find_listeners(parts.port or 80)
    is_ours = any(_works_in(listener, folder) for listener in listeners)
    strangers = [] if is_ours or agent.is_model else [each for each in listeners if each.folder not in folder.parents]
    if strangers:
        return f"{strangers[0]} listens there, and not in this folder"
    wanted = _paths_of(agent)[: 1 if is_ours else None]
    if not wanted:
        return "" if is_ours else "its source names no path by which to recognize the service that listens there"
    missing = _missing(base, wanted)
    if missing is None:
        return (
            ""
            if is_ours or agent.is_model
            else "what listens there answers at any path, so it is not known to be this project's"
        )
    return f"what listens there has no {join_words(missing, 'and no')}, which the source names" if missing else ""


def _works_in(listener: Listener, folder: Path) -> bool:
    """Whether a process was started in the folder, or with a file of it."""
    folder = folder.resolve()
    named = (Path(word) for word in listener.words if word.startswith("/"))
    return listener.folder.is_relative_to(folder) or any(path.is_relative_to(folder) for path in named)


def _paths_of(agent: FoundAgent) -> tuple[str, ...]:
    path = urlsplit(agent.address).path.rstrip("/")
    if agent.kind == "openai":
        path = f"{path}/chat/completions"
    return tuple(dict.fromkeys([*([path] if path and agent.kind != "a2a" else []), *agent.paths]))


def _missing(base: str, wanted: Iterable[str]) -> list[str] | None:
    """Those of the paths that a service does not have; None if it cannot be known."""
    try:
        described = json.loads(_ask(base, OPENAPI)[1]).get("paths")
    except (ValueError, AttributeError, RecursionError):
        described = None
    can_tell = isinstance(described, dict)
    known = {str(path).rstrip("/") for path in described} if isinstance(described, dict) else set()
    missing, nowhere = [path for path in wanted if path.rstrip("/") not in known], f"/{uuid4()}"
    for method in METHODS:
        if missing and _ask(base, nowhere, method)[0] == NOT_FOUND:
            can_tell = can_tell or method == METHODS[-1]
            missing = [path for path in missing if _ask(base, path, method)[0] in ABSENT]
    return missing if can_tell or not missing else None


def _ask(base: str, path: str, method: str = "GET") -> tuple[int, bytes]:
    """The status of an answer, and what the service says of itself; 0 if there is none. No redirect is followed."""
    parts = urlsplit(base)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.netloc, timeout=PATIENCE)
    try:
        connection.request(method, path, headers={"Content-Length": "0"} if method == "POST" else {})
        answer = connection.getresponse()
        return answer.status, answer.read(LARGEST) if path == OPENAPI else b""
    except (OSError, HTTPException, ValueError):
        return 0, b""
    finally:
        connection.close()
