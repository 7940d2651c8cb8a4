"""Log lines, and the events that they are."""
