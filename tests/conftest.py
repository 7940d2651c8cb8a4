"""What tests in several folders share."""

from postgres import database_url, postgres_url

__all__ = ["database_url", "postgres_url"]
