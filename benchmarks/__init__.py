"""What Carob costs when the agent costs nothing: `python -m benchmarks`."""
