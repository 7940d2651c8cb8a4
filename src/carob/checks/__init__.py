"""Checks: one family per file. A check is data plus one pure method `judge`."""
