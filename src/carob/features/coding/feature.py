"""What the rest of Carob knows of this feature."""

from carob.plugins.features import Feature, TargetKind

FEATURE = Feature(
    name="coding",
    summary="runs coding agents in a copy of a folder, and looks at what became of it",
    targets=(
        TargetKind("claude-code", "carob.features.coding.agents.target:CodingAgentTarget", "claude-code:"),
        TargetKind("codex", "carob.features.coding.agents.target:CodingAgentTarget", "codex:"),
        TargetKind("gemini", "carob.features.coding.agents.target:CodingAgentTarget", "gemini:"),
        TargetKind("opencode", "carob.features.coding.agents.target:CodingAgentTarget", "opencode:openai/gpt-5"),
        TargetKind(
            "mini-swe-agent", "carob.features.coding.agents.target:CodingAgentTarget", "mini-swe-agent:openai/gpt-5"
        ),
    ),
)
