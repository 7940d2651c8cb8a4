"""Where events come from and what they say."""
