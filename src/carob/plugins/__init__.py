"""Code of others: what installed packages provide, and what a project names in its own files."""
