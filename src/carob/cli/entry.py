"""The console script: it answers to signals before anything is loaded that takes time."""

from __future__ import annotations

import os
import signal

SIGNALS = (signal.SIGINT, signal.SIGTERM)
INTERRUPTED = 2


def main() -> None:
    _answer_with(_end)
    from carob.cli.main import main as command

    try:
        _answer_with(signal.default_int_handler)
        command()
    except KeyboardInterrupt:
        _end()


def _answer_with(handler: signal._HANDLER) -> None:
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _end(*_: object) -> None:
    os.write(2, b"carob: interrupted\n")
    os._exit(INTERRUPTED)
