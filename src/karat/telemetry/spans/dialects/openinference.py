"""OpenInference: kinds in capitals, inputs and outputs as one value, messages spread over numbered attributes.

A tool that takes one plain argument has that value alone for its input: which argument it was, the model's span says.
"""

from karat.telemetry.spans.dialect import SpanDialect, attribute, has, inside, kind_by, numbered, spread

KIND = "openinference.span.kind"
INPUT, OUTPUT = attribute("input.value"), attribute("output.value")

OPENINFERENCE = SpanDialect(
    name="OpenInference",
    speaks=has(KIND),
    kind=kind_by(KIND, {"tool": "tool", "llm": "model", "agent": "agent"}),
    tool=(attribute("tool.name"), lambda span: span.name),
    call_id=(attribute("tool_call.id", "tool.id"), inside(OUTPUT, "data", "tool_call_id")),
    arguments=(attribute("tool.parameters", "tool_call.function.arguments"), INPUT),
    result=(OUTPUT,),
    agent=(attribute("agent.name", "graph.node.id"), lambda span: span.name),
    model=(attribute("llm.model_name"),),
    input_tokens=(attribute("llm.token_count.prompt"),),
    output_tokens=(attribute("llm.token_count.completion"),),
    cost=(attribute("llm.cost.total"),),
    given=(spread("llm.input_messages"),),
    said=(spread("llm.output_messages"),),
    finish=(attribute("llm.finish_reason"),),
    offered=(numbered("llm.tools"),),
    answer=(OUTPUT,),
    state=(OUTPUT,),
)
