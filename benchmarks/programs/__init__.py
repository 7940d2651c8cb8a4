"""Programs that are measured: each is started by its path, in whatever environment it needs."""
