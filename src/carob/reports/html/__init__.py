"""A run and its cases as HTML: one set of templates, style and script for the report and for the viewer."""
