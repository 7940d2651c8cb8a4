"""Agents that are reached by HTTP: one machinery, and a small file for each protocol that is spoken over it."""
