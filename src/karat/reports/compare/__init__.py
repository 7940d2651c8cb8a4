"""Reports of a comparison: terminal, JSON, Markdown, HTML; all say the same, in the same words."""
