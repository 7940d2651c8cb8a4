"""A look at a page that has no target yet: its chat box, the assistant's messages, what shows that it is at work."""
