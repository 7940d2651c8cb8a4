"""What targets write into an accessibility snapshot for checks to read."""

THE_PROMPT = "[repeats the prompt]"
"""Marks a node that shows the prompt: it is not the assistant's output."""
LIKE_PROMPT = "[like the prompt]"
"""Marks a node that may only repeat the prompt: whether the app shows it on its own is unknown."""
NOT_SEEN = "[not seen]"
"""Marks a node for assistive technology that readers cannot see: it satisfies nothing, but it is there."""
