"""What a value of a suite may be, made from the types that checks and formats declare."""
