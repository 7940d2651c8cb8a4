"""What goes on inside a worker: its keeper starts it, its lanes carry out cases, its watchdog looks at them."""
