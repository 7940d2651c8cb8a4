"""What a coding agent did: commands, files, skills, and whether its claims hold against that."""
