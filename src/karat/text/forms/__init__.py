"""The forms in which a text is looked at: folded, as a reader sees it, as wide as can be. Each leads back to it."""
