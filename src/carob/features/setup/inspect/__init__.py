"""What Carob sees of an agent that has no target yet, and the target that follows from it."""
