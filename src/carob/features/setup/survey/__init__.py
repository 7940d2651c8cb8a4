"""What a project holds already, read and not run."""
