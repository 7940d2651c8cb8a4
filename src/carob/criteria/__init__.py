"""Criteria that only a reader can judge: what they are, and how people's labels and licensed opinions decide them."""
