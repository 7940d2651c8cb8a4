"""Langgraph: runs a LangGraph graph in this process, or on its server."""
