"""A prompt that was sent to a service is not sent again unless retries allow it, also where it took too long."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import carob
from carob.model.verdict import CaseStatus

CASES = 6
SUITE = {
    "carob": 1,
    "cases": [{"id": f"c{n}", "prompt": f"prompt {n}", "expected": {"must_say_any": ["x"]}} for n in range(CASES)],
}


class Silent(ThreadingHTTPServer):
    """Keeps what it is sent, and answers too late."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.prompts: Counter[str] = Counter()
        self.over = threading.Event()


class _Handler(BaseHTTPRequestHandler):
    server: Silent

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.prompts[asked["message"]] += 1
        self.server.over.wait(30)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def service() -> Iterator[Silent]:
    with Silent() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.over.set()
        server.shutdown()


@pytest.mark.parametrize(("retries", "sent"), [(0, 1), (1, 2)])
def test_a_prompt_that_took_too_long_is_not_sent_again(
    retries: int, sent: int, service: Silent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.carob.yaml").write_text(json.dumps(SUITE))
    # A hook that computes is what made Carob suspect that cases hold each other up.
    (tmp_path / "busy.py").write_text(
        "import time\n\n\ndef before(case):\n    end = time.process_time() + 0.2\n"
        "    while time.process_time() < end:\n        pass\n"
    )
    (tmp_path / "carob.toml").write_text(
        f'[targets.bot]\nuse = "http://127.0.0.1:{service.server_port}/chat"\n'
        'body = { message = "{prompt}" }\nanswer = "$.reply"\nsetup = "busy.py:before"\n'
    )
    started = time.monotonic()
    done = carob.run("s.carob.yaml", "bot", workers=1, concurrency=CASES, timeout=4, retries=retries)
    assert {record.verdict.status for record in done.journal.records()} == {CaseStatus.ERROR}
    assert service.prompts == {f"prompt {n}": sent for n in range(CASES)}
    assert time.monotonic() - started < 20
