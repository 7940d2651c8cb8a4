"""The reports of an audit."""
