"""A check, a target and a report for Karat."""
