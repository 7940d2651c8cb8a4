"""What Karat needs of the operating system and the interpreter."""
