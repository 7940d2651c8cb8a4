"""Can this suite fail? Wrong traces made from recorded ones, judged again without an agent."""
