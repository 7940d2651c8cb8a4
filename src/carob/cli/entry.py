"""The console script: it answers to signals before anything is loaded that takes time."""

from __future__ import annotations

import os
import signal

SIGNALS = (signal.SIGINT, signal.SIGTERM)
INTERRUPTED = 2
USAGE = 4
SYSTEMS = ("posix",)
"""Values of `os.name` where Carob runs: file locks, process groups and signals are those of POSIX."""


def main() -> None:
    if os.name not in SYSTEMS:
        os.write(2, b"carob: Carob runs on Linux and macOS. On Windows, run it in WSL. [platform]\n")
        os._exit(USAGE)
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
