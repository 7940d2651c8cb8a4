"""Operators: each makes wrong traces out of a right one, one family per file."""
