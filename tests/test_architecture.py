"""The picture of the house is the one that import-linter proves, and every room of it is there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "ARCHITECTURE.md").read_text()


def test_the_floors_are_those_of_the_layers_contract() -> None:
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = next(contract["layers"] for contract in linter["contracts"] if contract["type"] == "layers")
    drawn = next(block for block in re.findall(r"```\n(.*?)```", PAGE, re.DOTALL) if block.startswith("cli\n"))
    assert drawn.split("\n")[:-1] == [floor.replace(" | ", " · ") for floor in layers]


def test_every_room_is_described() -> None:
    rooms = {
        path.name for path in (ROOT / "src" / "karat").iterdir() if path.name.isidentifier() or path.suffix == ".py"
    }
    rooms = {name if name.endswith(".py") else f"{name}/" for name in rooms} - {"__init__.py", "__pycache__/"}
    described = {name for row in re.findall(r"^\|(.*?)\|", PAGE, re.MULTILINE) for name in re.findall("`(.*?)`", row)}
    assert rooms - described == set()
