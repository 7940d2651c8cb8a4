"""The table `[manners]` of carob.toml."""

from __future__ import annotations

from msgspec import Struct

from carob import find_project, read_settings


class MannersTable(Struct, forbid_unknown_fields=True):
    """An answer with more exclamation marks than `most` is loud."""

    most: int = 1


def read_manners() -> MannersTable:
    """That of the project of the current folder."""
    table: MannersTable = read_settings(find_project(), "manners")
    return table
