"""A small MCP server, over HTTP at a port or over stdio."""

import sys

from mcp.server import MCPServer

server = MCPServer("shop")


@server.tool()
def get_balance(account: str) -> dict[str, str]:
    """The balance of an account."""
    return {"balance": "12.50"}


if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run("stdio")
