"""Why a model stopped → how its turn ended."""

from __future__ import annotations

from karat.model.trace import BY_ITSELF
from karat.text.words import PUBLISHED


def ending(reason: str) -> str:
    """`itself` for a model that came to its end; any other reason as it is: it was cut off. Empty for none."""
    plain = reason.lower().replace("_", "").replace("-", "").replace(" ", "")
    return BY_ITSELF if plain in PUBLISHED.entries("own_ends") else reason
