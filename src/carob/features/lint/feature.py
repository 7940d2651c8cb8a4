"""What the rest of Carob knows of this feature."""

from carob.plugins.features import Command, Feature, McpTool

FEATURE = Feature(
    name="lint",
    summary="finds expectations that prove less than they seem to",
    commands=(
        Command(
            "lint",
            "Test the tests",
            "Find expectations that prove less than they seem to. Runs no agent.",
            "carob.features.lint.cli:command",
        ),
    ),
    mcp_tools=(McpTool("lint", "Lint a suite", "carob.features.lint.mcp:lint"),),
)
