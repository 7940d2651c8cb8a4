"""What the rest of Carob knows of this feature."""

from carob.plugins.features import Command, Feature

FEATURE = Feature(
    name="demo",
    summary="shows in half a minute what a contract notices",
    commands=(
        Command(
            "demo",
            "Start",
            "See an agent claim a refund that failed, the contract that notices, and the fix.",
            "carob.features.demo.cli:command",
        ),
    ),
)
