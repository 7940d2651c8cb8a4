"""What tests in several folders share."""

from hypothesis import HealthCheck, settings

from postgres import database_url, postgres_url

__all__ = ["database_url", "postgres_url"]

pytest_plugins = ["limits"]

# How long an example takes says how busy the machine is, and nothing else.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
