"""Running suites, and what is done with recorded runs: requests settled once, sessions, rescoring, comparing."""
