"""From bytes to a tree whose every value has a place: JSON and YAML."""
