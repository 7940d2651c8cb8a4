"""A live web app in a real browser."""
