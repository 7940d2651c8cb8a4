"""What happens to a trace before it is kept: cleaned, bounded, freed of secrets."""
