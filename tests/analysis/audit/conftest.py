from cli.fixtures import here, carob

__all__ = ["here", "carob"]
