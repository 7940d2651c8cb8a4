"""A Ray cluster as the place where cases are carried out."""
