"""A scripted model server: it speaks the wire formats of model providers, and every answer comes from a script."""

from scripted_model.server import ScriptedModel, serve

__all__ = ["ScriptedModel", "serve"]
