"""A test lab's assistant: a LangGraph agent that books vehicles onto dynamometers in a real database."""
