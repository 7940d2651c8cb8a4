"""What the rest of Carob knows of this feature."""

from carob.plugins.features import Command, Feature, McpTool

FEATURE = Feature(
    name="draft",
    summary="drafts a suite or rules from recorded conversations",
    commands=(
        Command(
            "draft",
            "Start",
            "Draft a suite from recorded runs, or by sending prompts to an agent.",
            "carob.features.draft.cli:command",
        ),
    ),
    mcp_tools=(McpTool("draft", "Draft a suite", "carob.features.draft.mcp:draft"),),
)
