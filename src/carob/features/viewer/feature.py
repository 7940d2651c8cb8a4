"""What the rest of Carob knows of this feature."""

from carob.plugins.features import Command, Feature

FEATURE = Feature(
    name="viewer",
    summary="shows runs in a browser",
    commands=(
        Command(
            "view",
            "See what happened",
            "Show runs in a browser: every case with its evidence.",
            "carob.features.viewer.cli:command",
        ),
    ),
)
