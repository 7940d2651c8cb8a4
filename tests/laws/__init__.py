"""The laws: what is true of every check, format, dialect and door, also of those that are added later."""
