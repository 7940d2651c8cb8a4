"""Published agent trajectories, judged by Karat and held against their published verdicts."""
