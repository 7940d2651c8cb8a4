"""Audit: makes right traces wrong, and counts how many a suite or a grader catches."""
