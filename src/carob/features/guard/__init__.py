"""Guard: asks the rules before a call is made."""
