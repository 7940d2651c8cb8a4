"""The version of Carob, in a module that imports nothing: journals, the command line and the release read it."""

__version__ = "0.1.0"
