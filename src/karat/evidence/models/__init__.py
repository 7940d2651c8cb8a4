"""The traffic between an agent and its model APIs: how each API is read, and what the exchanges of a turn show."""
