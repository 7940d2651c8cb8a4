"""One file per kind of grader: what it is called with, and where its verdict is."""
