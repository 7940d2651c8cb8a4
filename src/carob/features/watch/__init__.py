"""Watch: judges conversations as their spans arrive."""
