"""Command-line coding agents as targets: what each one's program needs, and how its log is read."""
