"""Check: judges recorded conversations by rules."""
