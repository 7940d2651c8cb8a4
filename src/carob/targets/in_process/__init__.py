"""Agents in Carob's own process: every call of a tool class that is known there is seen, and can be altered."""
