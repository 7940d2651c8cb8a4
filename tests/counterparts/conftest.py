"""Whatever stands in this folder needs software of others: `make counterparts` runs it, `make test` leaves it out."""

from pathlib import Path

import pytest

from cli.fixtures import carob, here

__all__ = ["carob", "here"]

HERE = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--from", metavar="FOLDER", help="a folder with clones of phaa/dyno-agent and others, by their names"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.counterpart)
