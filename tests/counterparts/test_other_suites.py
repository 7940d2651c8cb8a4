"""The same expectations and answers through other tools and through Karat: every difference has a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.published import peers
from counterparts.environments import python_with

PACKAGES = {"agentevals": "agentevals==0.0.9", "deepeval": "deepeval==4.3.1", "pydantic": "pydantic-evals==2.62.0"}
VERDICTS = 300


@pytest.mark.parametrize("peer", peers.PEERS, ids=lambda peer: peer.name)
def test_evaluators_of_other_tools_agree(peer: peers.Peer, tmp_path: Path) -> None:
    python = str(python_with(f"suites-{peer.name}", PACKAGES[peer.name]))
    found = [*peers.compare(peer, python, tmp_path, VERDICTS)]
    assert len(found) == VERDICTS
    assert [one for one in found if not one.agrees and peer.explain(one) == peers.UNEXPLAINED] == []
    assert {one.status for one in found} >= {"PASS", "FAIL"}
