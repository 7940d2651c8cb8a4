"""Each test is in a folder of its own, with the command line in this process."""

from cli.fixtures import here, carob

__all__ = ["here", "carob"]
