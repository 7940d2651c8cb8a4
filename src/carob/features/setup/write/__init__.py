"""`carob init`: what a project holds already, the first files that follow from it, and writing them together."""
