"""What the rest of Carob knows of this feature."""

from carob.plugins.features import CheckPlace, Feature, TargetKind

TARGET = "carob.features.coding.agents.target:CodingAgentTarget"
PRESET = "carob.features.coding.agents.catalog:with_preset"

FEATURE = Feature(
    name="coding",
    summary="runs coding agents in a copy of a folder, and looks at what became of it",
    targets=(
        TargetKind("claude-code", TARGET, "claude-code:", completes=PRESET),
        TargetKind("codex", TARGET, "codex:", completes=PRESET),
        TargetKind("gemini", TARGET, "gemini:", completes=PRESET),
        TargetKind("opencode", TARGET, "opencode:openai/gpt-5", completes=PRESET),
        TargetKind(
            "mini-swe-agent", "carob.features.coding.agents.target:CodingAgentTarget", "mini-swe-agent:openai/gpt-5"
        ),
    ),
    checks=(
        CheckPlace("commands", "carob.features.coding.checks.commands:CommandRuns"),
        CheckPlace("files", "carob.features.coding.checks.files:Files"),
        CheckPlace("diff", "carob.features.coding.checks.files:Diff"),
        CheckPlace("skills", "carob.features.coding.checks.skills:Skills"),
        CheckPlace("outside", "carob.features.coding.checks.reach:Outside"),
        CheckPlace("network", "carob.features.coding.checks.reach:Network"),
        CheckPlace("after", "carob.features.coding.checks.after:AfterCommand"),
        CheckPlace("claims", "carob.features.coding.checks.claims:Claims"),
    ),
    services={"workspace": "carob.features.coding.workspaces.wrapper:WithWorkspace"},
)
