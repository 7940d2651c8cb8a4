"""The app as a process: how it starts, says where it is, and stops."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from canvas_support import Conversation, RunningApp

EXAMPLES = Path(__file__).parents[3] / "examples"

CRASHES_IN_MID_STREAM = """
from collections.abc import Iterator
import canvas_app.brain.rule_based as brain
from canvas_app.__main__ import main

def crash(text: str) -> Iterator[str]:
    yield text[:5]
    raise SystemExit("planted")

brain.answer_pieces = crash
main(["--port", "0"])
"""


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CANVAS_", "OPENAI_", "OTEL_"))}
    return {**kept, "PYTHONPATH": str(EXAMPLES), **more}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "canvas_app", *arguments]


@contextmanager
def process(arguments: list[str], **variables: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A running app and the address that it printed."""
    with subprocess.Popen(
        arguments, env=environment(**variables), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        try:
            assert running.stdout is not None
            line = running.stdout.readline()
            found = re.fullmatch(r"Canvas listens on (http://127\.0\.0\.1:\d+/)\n", line)
            assert found, line
            yield running, found[1]
        finally:
            if running.poll() is None:
                running.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_listens_and_stops_in_good_order(number: signal.Signals, tmp_path: Path) -> None:
    log = tmp_path / "deep" / "telemetry.jsonl"
    with process(command("--port", "0"), TELEMETRY_LOG_PATH=str(log), CANVAS_OFF="slack") as (running, url):
        with httpx2.Client(base_url=url, trust_env=False, timeout=20) as client:
            assert client.get("/health").json()["status"] == "ok"
            app = RunningApp(url, log, client)
            conversation = app.converse()
            assert conversation.ask("Add Slack mentions").tools == [("add_component", False)]
            assert len(conversation.lines()) == 4
        running.send_signal(number)
        _, errors = running.communicate(timeout=20)
        assert (running.returncode, errors) == (0, "")


def test_the_clock_comes_from_outside() -> None:
    with process(command("--port", "0"), CANVAS_NOW="2027-01-04T08:30:00+00:00") as (_, url):
        page = httpx2.get(url, trust_env=False, timeout=20).text
    assert "Monday 4 January, 08:30" in page


@pytest.mark.parametrize(
    ("variables", "problem"),
    [
        ({"CANVAS_NOW": "noon"}, "canvas_app: CANVAS_NOW: 'noon' is no ISO instant"),
        ({"CANVAS_OFF": "slack,jira"}, "canvas_app: CANVAS_OFF: 'jira' is no integration; use github, slack"),
    ],
)
def test_a_bad_setting_is_one_line_and_no_traceback(variables: dict[str, str], problem: str) -> None:
    done = subprocess.run(
        command("--port", "0"), env=environment(**variables), capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(problem)
    assert done.stderr.count("\n") == 1


def test_a_port_that_is_taken_is_said_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(command("--port", port), env=environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert re.fullmatch(rf"canvas_app: cannot listen on 127\.0\.0\.1:{port}: .+\n", done.stderr)


def test_a_bug_can_be_planted_from_outside(tmp_path: Path) -> None:
    """A wrapper process replaces one function and serves; here the whole app dies in mid-stream."""
    log = tmp_path / "telemetry.jsonl"
    with process([sys.executable, "-c", CRASHES_IN_MID_STREAM], TELEMETRY_LOG_PATH=str(log)) as (running, url):
        with httpx2.Client(base_url=url, trust_env=False, timeout=20) as client:
            conversation: Conversation = RunningApp(url, log, client).converse()
            with pytest.raises((httpx2.RemoteProtocolError, httpx2.ReadError, StopIteration)):
                conversation.ask("Brief me").text  # noqa: B018
        running.communicate(timeout=20)
    assert [line["event"] for line in conversation.lines()][:3] == ["start", "start", "result"]
