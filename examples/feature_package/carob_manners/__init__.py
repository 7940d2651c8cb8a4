"""Manners: a feature for Carob, as another package brings it."""
