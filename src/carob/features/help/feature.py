"""What the rest of Carob knows of this feature."""

from carob.plugins.features import Command, Feature

FEATURE = Feature(
    name="help",
    summary="shows the pages of the documentation, without a network",
    commands=(
        Command(
            "help",
            "Start",
            "Show a page of the documentation, or what an error means.",
            "carob.features.help.cli:command",
        ),
    ),
)
