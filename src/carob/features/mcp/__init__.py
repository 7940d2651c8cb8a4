"""Mcp: lets a coding agent use Carob over MCP."""
