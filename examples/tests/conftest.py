"""The applications of this folder, tested by themselves: `make examples` runs these."""

from postgres import database_url, postgres_url

__all__ = ["database_url", "postgres_url"]

pytest_plugins = ["limits"]
