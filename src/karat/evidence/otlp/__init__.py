"""A receiver of OTLP over HTTP, and the inbox in which spans wait for their case."""
