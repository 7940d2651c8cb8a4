"""`carob check`: what share of recorded conversations broke a rule, which ones, and since when."""
