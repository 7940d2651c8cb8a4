"""What is quoted of an answer is cut before anybody knows its secrets: what is left of one at the cut goes too."""

from __future__ import annotations

import pytest

from carob.model.trace import REMOVED, TraceError
from carob.redaction.redactor import Redactor
from carob.targets.http.streams import HEAD, Received

SECRET = "hüsh-1234-hüsh"


@pytest.mark.parametrize("kept", range(6, len(SECRET.encode())))
def test_no_half_of_a_secret_stays(kept: int) -> None:
    received = Received()
    received.add(b"x" * (HEAD - kept) + SECRET.encode() + b"y" * 50)
    error = received.error("bad-answer", "no")
    assert error.error.detail.endswith("…")
    cleaned = Redactor([SECRET]).redact(TraceError("bad-answer", "no", error.error.detail)).detail
    assert cleaned.endswith(f"xx{REMOVED}…")


def test_what_is_whole_has_no_mark() -> None:
    received = Received()
    received.add(b"x" * HEAD)
    assert str(received) == f"received: {'x' * HEAD}"
