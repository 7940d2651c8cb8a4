"""What the rest of Carob knows of this feature."""

from carob.plugins.features import Command, Feature

FEATURE = Feature(
    name="mcp",
    summary="lets a coding agent use Carob over MCP",
    commands=(
        Command(
            "mcp",
            "Suites and editors",
            "Let a coding agent use Carob, over MCP on stdin and stdout.",
            "carob.features.mcp.cli:command",
            needs_processes=True,
        ),
    ),
)
