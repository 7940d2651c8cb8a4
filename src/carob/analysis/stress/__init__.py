"""What an agent does when its world misbehaves: cases that pass, broken in one way at a time, and what must hold."""
