"""What the answers of an unknown service mean, by their shape. What is not clear is not proposed."""
