"""Answers across sources: risk, conflicts, recommendation, in the form that was asked for."""
