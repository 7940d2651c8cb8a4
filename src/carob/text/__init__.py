"""What "contains" means: how the words of an agent are compared with what a suite asks for."""
