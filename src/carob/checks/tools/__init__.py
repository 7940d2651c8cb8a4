"""Checks of the calls: which tools, with which arguments, in which order."""
