"""What Carob needs of the operating system and the interpreter."""
