"""Each test is in a folder of its own, with the command line in this process."""

from cli.fixtures import here, karat

__all__ = ["here", "karat"]
