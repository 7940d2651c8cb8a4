"""What the rest of Carob knows of this feature."""

from carob.plugins.features import Command, Feature

FEATURE = Feature(
    name="watch",
    summary="judges conversations as their spans arrive",
    commands=(
        Command(
            "watch",
            "Judge and guard conversations",
            "Judge conversations as they happen: receive spans, and say which rules they break.",
            "carob.features.watch.cli:command",
            needs_processes=True,
        ),
    ),
)
