"""Criteria labelled by people in a terminal or a browser, and the opinions of a model on them."""
