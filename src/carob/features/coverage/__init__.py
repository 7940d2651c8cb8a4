"""Coverage: shows which declared things no case looks at."""
