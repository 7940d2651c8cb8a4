"""From checks to a status, and from the records of repeats to a summary."""
