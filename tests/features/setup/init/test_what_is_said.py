"""What `carob init` says of an agent that was not asked with success, and what settles it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from carob.evidence.recorder import SOME_SEEN, RanCall, Recorder
from carob.features.setup.library import inspect
from carob.model.trace import Trace
from carob.text.clean import jsonable
from cli.support import Carob

BROKEN = """\
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer


class Service(BaseHTTPRequestHandler):
    def do_POST(self):
        self.send_error(int(sys.argv[1]))


server = HTTPServer(("127.0.0.1", 0), Service)
print(server.server_port, flush=True)
server.serve_forever()
"""


@pytest.mark.parametrize(
    ("status", "says"),
    [("500", "the application broke: POST "), ("501", "the service accepted none of the usual requests")],
)
def test_an_application_that_breaks_is_said_to_with_its_log(status: str, says: str, tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    words = [sys.executable, "-c", BROKEN, status]
    with log.open("w") as out, subprocess.Popen(words, stdout=subprocess.PIPE, stderr=out, text=True) as service:
        try:
            assert service.stdout is not None
            found = inspect(f"http://127.0.0.1:{service.stdout.readline().strip()}/chat", kind="http")
        finally:
            service.kill()
    assert found.problem.startswith(says)
    assert (f"Its log says why ({log})" in found.problem) == (status == "500")


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (
            "anthropic.APIConnectionError: Connection error.",
            "set ANTHROPIC_API_KEY, or the address of a model in ANTHR",
        ),
        ("The api_key client option must be set", "Its model was not reached: set OPENAI_API_KEY"),
        ("division by zero", ""),
    ],
)
def test_a_model_that_is_not_there_is_said_with_the_variable(
    error: str, says: str, carob: Carob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asks = "def answer(prompt):\n    with open('asked', 'a') as out:\n        out.write('.')\n    return fail(prompt)\n"
    Path("desk.py").write_text(f"{asks}def fail(prompt):\n    raise OSError({error!r})\n")
    done = carob("init", "--yes")
    assert says in done.out
    assert ("Its model was not reached" in done.out) == bool(says)
    assert Path("asked").read_text() == "."


def test_a_tool_that_was_seen_names_the_line_that_shows_the_others() -> None:
    trace = Trace(case_id="one", unobserved={"tools": "the function gave no tool_calls"})
    recorder = Recorder()
    assert recorder.with_ran_calls(trace).unobserved == trace.unobserved
    recorder.note_ran(RanCall("look_up", {}, None, None, True, None))
    assert recorder.with_ran_calls(trace).unobserved == {"tools": SOME_SEEN}
    assert 'evidence = ["models"]' in SOME_SEEN


def test_no_object_is_shown_with_its_address() -> None:
    class Context: ...

    shown = str(jsonable({"context": Context(), "all": {Context()}}))
    assert "Context object at 0x…" in shown
    assert f"{id(Context):x}"[:4] not in shown
