"""Each test is in a folder of its own, with the command line in this process."""

from cli.fixtures import carob, here

__all__ = ["carob", "here"]
