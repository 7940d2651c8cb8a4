"""Frameworks: runs an agent of a known framework in this process, by nothing but its name."""
