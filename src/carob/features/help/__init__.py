"""`carob help`: the pages of the documentation, from the package itself."""
