from __future__ import annotations

from collections.abc import Callable

import pytest

from cli.support import Ran
from karat.cli.main import run


@pytest.fixture
def karat_line(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """A command line in this process, and what it came to."""

    def line(*arguments: str) -> Ran:
        capsys.readouterr()
        code = run(list(arguments))
        return Ran(code, *capsys.readouterr())

    return line
