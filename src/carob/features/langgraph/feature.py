"""What the rest of Carob knows of this feature."""

from carob.plugins.features import Feature, TargetKind

FEATURE = Feature(
    name="langgraph",
    summary="runs a LangGraph graph in this process, or on its server",
    targets=(
        TargetKind(
            "langgraph",
            "carob.features.langgraph.target:LangGraphTarget",
            "langgraph:module:graph",
            extra="langgraph",
            in_process=True,
        ),
        TargetKind(
            "langgraph-server",
            "carob.features.langgraph.server:LangGraphServerTarget",
            "langgraph-server:http://127.0.0.1:2024",
            extra="http",
        ),
    ),
)
