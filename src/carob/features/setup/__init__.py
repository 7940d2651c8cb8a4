"""Setup: finds the agent of a project, and writes its first files."""
