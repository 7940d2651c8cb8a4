"""Viewer: shows runs in a browser."""
