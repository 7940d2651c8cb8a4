from cli.fixtures import karat

__all__ = ["karat"]
