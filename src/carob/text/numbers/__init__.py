"""Numbers in a text: which stand there, whether one does as a whole, and which of them are claims."""
