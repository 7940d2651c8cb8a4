"""Settings from the environment, read when they are needed and refused in one clear line."""

import os
from datetime import datetime

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError


class ConfigurationError(ValueError):
    """A setting that cannot be used; the message says which and how to mend it."""


def environment_setting(name: str) -> str | None:
    """An environment variable; unset and empty are the same."""
    return os.environ.get(name) or None


def parse_now(value: str) -> datetime:
    """Read the lab's clock, which has no time zone: the lab is in one place."""
    try:
        return datetime.fromisoformat(value).replace(tzinfo=None)
    except ValueError as problem:
        raise ConfigurationError(f"DYNO_NOW is {value!r}: write it as 2026-03-02T09:00:00") from problem


def parse_database_url(value: str) -> URL:
    """Read the PostgreSQL database's URL, with the driver filled in."""
    try:
        url = make_url(value)
    except ArgumentError as problem:
        raise ConfigurationError("DYNO_DATABASE_URL is no URL: write postgresql://user@host/database") from problem
    if url.get_backend_name() != "postgresql":
        raise ConfigurationError(
            f"DYNO_DATABASE_URL names {url.get_backend_name()!r}: write postgresql://user@host/database, "
            "or leave it unset for a SQLite file per conversation"
        )
    return url.set(drivername="postgresql+asyncpg")
