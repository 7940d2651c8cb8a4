"""Importers: suites and results of other tools, a file or folder for each tool."""
