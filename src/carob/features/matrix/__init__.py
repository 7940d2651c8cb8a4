"""Matrix: shows runs side by side."""
