"""How old a text says that something is: in figures, in words, and in other languages than English."""
