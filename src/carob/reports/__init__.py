"""Reports: one format per file, each a function of a journal."""
