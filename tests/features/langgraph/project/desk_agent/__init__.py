"""An agent as a package, as `langgraph new` makes them."""
