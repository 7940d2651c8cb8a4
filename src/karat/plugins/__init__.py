"""Code of others: what installed packages bring, and what a project names in its own files."""
