"""What the rest of Carob knows of this feature."""

from carob.plugins.features import Command, Feature

FEATURE = Feature(
    name="setup",
    summary="finds the agent of a project, and writes its first files",
    commands=(
        Command(
            "init",
            "Start",
            "Find the agent of a project, write a first suite, and run it.",
            "carob.features.setup.cli:command",
            needs_processes=True,
        ),
        Command(
            "init --inspect",
            "Start",
            "Send a prompt to an agent, show what Carob sees, and write its target.",
            "carob.features.setup.cli_inspect:command",
            needs_processes=True,
        ),
    ),
)
