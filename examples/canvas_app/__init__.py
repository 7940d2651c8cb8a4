"""A workspace app: a canvas of components and an assistant that arranges and explains them."""
