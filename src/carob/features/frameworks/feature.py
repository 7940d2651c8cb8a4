"""What the rest of Carob knows of this feature."""

from carob.plugins.features import Feature, TargetKind

_TARGET = "carob.features.frameworks.target:FrameworkTarget"
KINDS = {
    "openai-agents": "carob.features.frameworks.openai_agents:OpenAiAgent",
    "pydantic-ai": "carob.features.frameworks.pydantic_ai:PydanticAgent",
}
"""The kinds of agents, each with the class that talks to one."""
FEATURE = Feature(
    name="frameworks",
    summary="runs agents of the frameworks that are known, by nothing but their names",
    targets=tuple(TargetKind(kind, _TARGET, f"{kind}:module:agent", in_process=True) for kind in KINDS),
)
