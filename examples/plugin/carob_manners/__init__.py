"""A check, a target, a report and a suite format for Carob."""
