"""A look at a page that nobody described: its chat box, the assistant's messages, what shows that it is at work."""
