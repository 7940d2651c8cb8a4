"""A service that answers where the agent would is used only if it is known to be of this project."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from carob.features.setup.library import choose_agent, doubt, inspect, survey_project
from cli.support import Carob
from yaml_files import read_yaml

CASES = read_yaml(Path(__file__).with_name("foreign_services.yaml"))
SERVICE = """\
import json, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

routes, described = json.loads(sys.argv[1])


class Service(BaseHTTPRequestHandler):
    def reply(self):
        text = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        if text:
            open("asked", "a").write(text)
        found = self.path == "/openapi.json" and described is not None
        paths = {path: {"post": {"requestBody": {"content": {"application/json": {"schema": {"type": "object",
            "required": ["message"], "properties": {"message": {"type": "string"}}}}}}}} for path in described or ()}
        own = routes == "any" or self.path in [*routes.get(self.command, ()), *(described or ())]
        body = json.dumps({"paths": paths} if found else {"answer": f"You said {text}"}).encode()
        self.send_response(200 if found or own else 404)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_OPTIONS = reply


server = HTTPServer(("127.0.0.1", 0), Service)
print(server.server_port, flush=True)
server.serve_forever()
"""


@contextmanager
def serving(folder: Path, case: dict[str, Any]) -> Iterator[int]:
    """The service of a case as a process that works in a folder."""
    script = folder / "service.py"
    script.write_text(SERVICE)
    words = [sys.executable, "service.py", json.dumps([case.get("routes", {}), case.get("openapi")])]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.kill()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("project", "other"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def lay_out(project: Path, paths: list[str], port: int) -> None:
    routes = "".join(f"@app.post({path!r})\ndef f{number}(m): ...\n" for number, path in enumerate(paths))
    (project / "main.py").write_text(f"from fastapi import FastAPI\napp = FastAPI()\n{routes}")
    (project / ".env").write_text(f"PORT={port}\n")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_whose_service_it_is(case: dict[str, Any], project: Path) -> None:
    folder = {"project": project, "other": project.parent / "other", "above": project.parent}[case["folder"]]
    with serving(folder, case) as port:
        lay_out(project, case["source"], port)
        survey = survey_project(project)
        agent = choose_agent(survey, may_ask=True)
        assert agent is not None
        said = doubt(survey, agent)
    assert (case.get("doubt", "") in said) if said else "doubt" not in case, said


@pytest.mark.parametrize("paths", [["/chat"], ["/ask"], []], ids=str)
def test_nothing_is_written_from_another_project(carob: Carob, project: Path, paths: list[str]) -> None:
    other = project.parent / "other"
    with serving(other, {"openapi": ["/chat"]}) as port:
        lay_out(project, paths, port)
        done = carob("init", "--yes", "--prompt", "Where is A-17?", "--allow-effects")
    assert "it was not asked: process " in done.out
    assert f"in {other}) listens there, and not in this folder" in done.out
    assert not (other / "asked").exists()
    assert "[targets." not in (project / "carob.toml").read_text()
    assert (
        f"carob init --inspect http://127.0.0.1:{port}{(paths or ['/'])[0]} --name app --write"
        in (project / "carob.toml").read_text()
    )
    assert "passed" not in done.out


def test_a_service_that_the_user_names_is_asked(carob: Carob, project: Path) -> None:
    other = project.parent / "other"
    with serving(other, {"openapi": ["/chat"]}) as port:
        done = carob("init", "--yes", "--target", f"http://127.0.0.1:{port}/chat")
        assert "1 passed" in done.out, done
        seen = inspect(f"http://127.0.0.1:{port}/chat").sightings
    assert (other / "asked").exists()
    (line,) = next(each.seen for each in seen if each.what == "at this port")
    assert "service.py" in line
    assert line.endswith(f"in {other})")
