"""A fresh copy of a folder for each case, with a HOME of its own, and what the agent did to it."""
