"""The first files of a project: what is there already, what can be seen of an agent, and what is written."""
