"""What the rest of Carob knows of this feature."""

from carob.plugins.features import Command, Feature

FEATURE = Feature(
    name="judge",
    summary="judges for test runners of other languages",
    commands=(
        Command(
            "judge",
            "Suites and editors",
            "Judge for a test runner of another language, over stdin and stdout.",
            "carob.features.judge.cli:command",
            needs_processes=True,
        ),
    ),
)
