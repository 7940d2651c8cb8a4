"""What targets write into an accessibility snapshot for checks to read."""

THE_PROMPT = "[repeats the prompt]"
"""Beside a node that shows the prompt: it is not the work of the assistant."""
LIKE_PROMPT = "[like the prompt]"
"""Beside a node that may only repeat the prompt: nobody can tell whether the app put it there for itself."""
NOT_SEEN = "[not seen]"
"""Beside a node that assistive technology is told of and no reader sees: nothing that is asked for, and yet there."""
