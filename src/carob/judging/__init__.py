"""How a recorded conversation is judged, by rules or by a case, and kept as the record of a run."""
