from cli.fixtures import carob

__all__ = ["carob"]
