"""Writing and reading journals: a run on disk, its truth."""
