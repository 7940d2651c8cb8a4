"""Worker processes: an agent that blocks, leaks or crashes takes down its own case and no other."""
