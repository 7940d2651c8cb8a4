"""Coding: runs coding agents in a copy of a folder, and looks at what became of it."""
