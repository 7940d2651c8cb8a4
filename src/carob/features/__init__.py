"""What a user can name next to a run: each folder is a feature, plugged in as one of another package would be."""
