"""One table per dialect."""
