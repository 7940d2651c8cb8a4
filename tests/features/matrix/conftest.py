from __future__ import annotations

from collections.abc import Callable

import pytest

from carob.cli.main import run
from cli.support import Ran


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is derived from journals is kept with the tests, not with who runs them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def carob_line(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """A command line in this process, and what it came to."""

    def line(*arguments: str) -> Ran:
        capsys.readouterr()
        code = run(list(arguments))
        return Ran(code, *capsys.readouterr())

    return line
