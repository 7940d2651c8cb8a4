"""Secrets and personal data, removed from whatever Carob writes or shows."""
