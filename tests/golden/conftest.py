from __future__ import annotations

import pytest
from golden_runs import ROOT


@pytest.fixture(autouse=True)
def _project(monkeypatch: pytest.MonkeyPatch) -> None:
    """The project's own folder and agent, whatever the environment of the tests says."""
    monkeypatch.chdir(ROOT)
    for name in ("DYNO_DATABASE_URL", "DYNO_MODEL", "DYNO_NOW"):
        monkeypatch.delenv(name, raising=False)
