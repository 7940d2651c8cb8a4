"""tau-bench and tau2: tasks, what they ask for, and trajectories."""
