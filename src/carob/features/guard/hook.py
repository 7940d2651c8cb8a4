"""What a coding agent runs before and after each call of a tool: `python -I -m carob.features.guard.hook FILE SHA256`.

An event is JSON on stdin. Exit code 2 blocks, and the reason is on stderr; so does whatever goes wrong. It is started
for each event, so little is loaded, and only after the deadline began to count.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import Final

from carob.features.guard.hook_protocol import BLOCK, DEADLINE, LARGEST_EVENT
from carob.system.gc_pause import gc_paused

USAGE: Final = (
    "hook is what a coding agent starts for each of its events, which come on stdin. Type instead: "
    "carob guard install POLICY"
)


def run_hook(arguments: Sequence[str]) -> int:
    """Read an event, answer it, and give the exit code."""
    before = _set_deadline(DEADLINE, _give_up)
    try:
        with gc_paused():
            return _answer_input(arguments)
    except Exception as error:  # noqa: BLE001 - a traceback exits with 1, which hosts take for leave to go on
        return _block(f"the guard failed: {type(error).__name__}: {error}")
    finally:
        _set_deadline(0, before)


def _set_deadline(seconds: float, then: signal._HANDLER) -> signal._HANDLER:
    """What was done at the deadline before."""
    before: signal._HANDLER = None
    if sys.platform != "win32":
        before = signal.signal(signal.SIGALRM, then)
        signal.setitimer(signal.ITIMER_REAL, seconds)
    return before


def _answer_input(arguments: Sequence[str]) -> int:
    if len(arguments) != 2 or sys.stdin is None or sys.stdin.isatty():
        return _block(USAGE)
    data = sys.stdin.buffer.read(LARGEST_EVENT + 1)
    if len(data) > LARGEST_EVENT:
        return _block("the event is too large to be judged")
    from pathlib import Path

    from carob.features.guard.hook_events import answer_event

    answer = answer_event(data, Path(arguments[0]), arguments[1])
    if answer.output:
        print(answer.output, flush=True)
    return _block(answer.error) if answer.error else answer.code


def _block(why: str) -> int:
    print(f"carob guard: {why}", file=sys.stderr, flush=True)
    return BLOCK


def _give_up(*_: object) -> None:
    os.write(2, b"carob guard: no decision in time, so the call is refused\n")
    os._exit(BLOCK)


if __name__ == "__main__":
    os._exit(run_hook(sys.argv[1:]))  # taking down what was loaded would take as long as deciding
