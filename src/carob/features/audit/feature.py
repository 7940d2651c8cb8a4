"""What the rest of Carob knows of this feature."""

from carob.plugins.features import Command, Feature, McpTool, Page

FEATURE = Feature(
    name="audit",
    summary="makes right traces wrong, and counts how many a suite or a grader catches",
    commands=(
        Command(
            "audit",
            "Test the tests",
            "Measure how many wrong answers a suite, or any grader, would catch. Runs no agent.",
            "carob.features.audit.cli:command",
        ),
        Command(
            "audit --claims",
            "Test the tests",
            "Show which recorded sentences claim an effect, and which nearly do. Runs no agent.",
            "carob.features.audit.cli_effects:command",
        ),
    ),
    pages=(Page("/run/{key}/audit", "carob.features.audit.page:audit_page", "Audit"),),
    mcp_tools=(McpTool("audit", "Audit a run", "carob.features.audit.mcp:audit"),),
)
