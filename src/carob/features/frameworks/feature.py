"""What the rest of Carob knows of this feature."""

from carob.plugins.features import Feature, TargetKind

_TARGET = "carob.features.frameworks.target:FrameworkTarget"
_PLACE = "carob.features.frameworks."
KINDS = {
    "openai-agents": f"{_PLACE}openai_agents:OpenAiAgent",
    "pydantic-ai": f"{_PLACE}pydantic_ai:PydanticAgent",
    "adk": f"{_PLACE}adk:AdkAgent",
    "crewai": f"{_PLACE}crewai:CrewAgent",
    "llama-index": f"{_PLACE}llama_index:LlamaIndexAgent",
    "smolagents": f"{_PLACE}smolagents:SmolAgent",
    "agno": f"{_PLACE}agno:AgnoAgent",
    "strands": f"{_PLACE}strands:StrandsAgent",
    "agent-framework": f"{_PLACE}agent_framework:MicrosoftAgent",
    "autogen": f"{_PLACE}autogen:AutogenAgent",
    "langchain": f"{_PLACE}langchain:LangChainAgent",
    "dspy": f"{_PLACE}dspy:DspyProgram",
    "haystack": f"{_PLACE}haystack:HaystackAgent",
}
"""The kinds of agents, each with the class that talks to one."""
FEATURE = Feature(
    name="frameworks",
    summary="runs agents of the frameworks that are known, by nothing but their names",
    targets=tuple(TargetKind(kind, _TARGET, f"{kind}:module:agent", in_process=True) for kind in KINDS),
)
