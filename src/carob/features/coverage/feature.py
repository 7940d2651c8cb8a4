"""What the rest of Carob knows of this feature."""

from carob.plugins.features import Command, Feature

FEATURE = Feature(
    name="coverage",
    summary="shows which declared things no case looks at",
    commands=(
        Command(
            "coverage",
            "Test the tests",
            "Show which tools, arguments, effects and rules a suite and its runs reach. Runs no agent.",
            "carob.features.coverage.cli:command",
        ),
    ),
)
