"""How the rule-based brain reads a message: from words to steps, by patterns alone."""
