from audit.conftest import karat

__all__ = ["karat"]
