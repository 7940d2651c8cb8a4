"""Reading journals: no agent is needed for anything in here."""
