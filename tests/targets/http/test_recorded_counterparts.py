"""The presets against what their real counterparts said: `make counterparts` records it, live."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .desk import COUNTERPARTS, RECORDINGS, Counterpart, expect, judged, replaying

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "conformance.md"


@pytest.mark.parametrize("part", COUNTERPARTS, ids=lambda part: part.name)
async def test_a_preset_reads_what_its_counterpart_said(part: Counterpart, tmp_path: Path) -> None:
    kept = json.loads((RECORDINGS / f"{part.name}.json").read_text())
    async with replaying(kept) as address:
        row = expect(part, await judged(part, address, tmp_path))
    shown = " | ".join((f"`{part.kind}:`", part.shown, *row.values()))
    assert f"| {shown} |" in PAGE.read_text(), f"write this row into {PAGE.name}:\n| {shown} |"


def test_the_table_has_no_other_rows() -> None:
    assert PAGE.read_text().count("\n| `") == len(COUNTERPARTS)
