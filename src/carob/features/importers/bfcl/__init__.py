"""The Berkeley function calling leaderboard: tasks and results."""
