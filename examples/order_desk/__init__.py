"""A small order desk on LangGraph: one sound agent, and agents with one weakness each, for `carob stress`."""
