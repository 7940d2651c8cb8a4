from cli.fixtures import carob, here

__all__ = ["carob", "here"]
