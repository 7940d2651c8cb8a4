"""Browser: tests a live web application in a real browser."""
