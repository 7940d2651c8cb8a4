"""Compare: says whether a run is better or worse than another, and with what confidence."""
