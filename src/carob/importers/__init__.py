"""Files of other tools: the suite, the results and the provider of one tool in one folder."""
