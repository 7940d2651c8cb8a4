"""What of the declared things a suite and its runs reach: tools, arguments, effects, rules, faults, expected keys."""
