"""The features of Carob, in the order of `carob --help`. Without its line here a feature does not exist."""

from carob.plugins.features import Feature, load

NAMES = (
    "demo",
    "setup",
    "stress",
    "compare",
    "matrix",
    "viewer",
    "labels",
    "check",
    "watch",
    "guard",
    "lint",
    "audit",
    "draft",
    "coverage",
    "mcp",
    "judge",
    "help",
    "importers",
    "langgraph",
    "frameworks",
    "browser",
    "coding",
    "ray",
)
FEATURES: tuple[Feature, ...] = tuple(load(f"carob.features.{name}.feature:FEATURE") for name in NAMES)
