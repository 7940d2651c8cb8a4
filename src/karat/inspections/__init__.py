"""What Karat sees of an agent that nobody described to it yet, and the target that follows from it."""
