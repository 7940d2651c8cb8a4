"""A LangGraph graph in this process."""
