"""The nine tools of the assistant."""
