"""Karat for coding agents: an MCP server on stdin and stdout, for one project."""
