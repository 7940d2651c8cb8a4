from audits.conftest import karat

__all__ = ["karat"]
