"""What prose says: what it asks, claims and denies."""
