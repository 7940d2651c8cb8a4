"""What the sources say: numbers with their windows, and how far they can be trusted."""
