"""A first look: an agent that claims what it did not do, the contract that notices, and the fix, in half a minute."""
