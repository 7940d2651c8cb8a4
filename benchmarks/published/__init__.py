"""Published agent trajectories, judged by Carob and held against their published verdicts."""
