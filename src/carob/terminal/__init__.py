"""What a person sees in a terminal: a run as it goes on, its end, and what was found in runs."""
