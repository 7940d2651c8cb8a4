from cli.fixtures import here, karat

__all__ = ["here", "karat"]
