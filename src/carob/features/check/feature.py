"""What the rest of Carob knows of this feature."""

from carob.plugins.features import Command, Feature

FEATURE = Feature(
    name="check",
    summary="judges recorded conversations by rules",
    commands=(
        Command(
            "check",
            "Judge and guard conversations",
            "Judge recorded conversations by rules: what share broke them, which, and since when?",
            "carob.features.check.cli:command",
        ),
    ),
)
