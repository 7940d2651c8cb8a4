"""Sessions of coding agents: what their programs wrote down of a run, one file per agent."""
