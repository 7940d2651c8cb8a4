"""Regexes: those of suites, bounded in time and size, and our own, compiled when they are first used."""
