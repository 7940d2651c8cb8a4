"""What decides on a turn: the rule-based brain, or a model behind an OpenAI-compatible endpoint."""
