"""A suite drafted from what an agent was seen to do."""
