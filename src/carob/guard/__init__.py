"""The rules of a contract, asked before a call is made: in Python, by hooks of coding agents, over HTTP and MCP."""
