"""What goes on inside a worker: its supervisor starts it, its slots carry out cases, its watchdog looks at them."""
