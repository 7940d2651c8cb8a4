"""The formats of suites: one file each, all of them become the same cases."""
