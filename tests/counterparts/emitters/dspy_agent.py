"""DSPy's ReAct with OpenInference's instrumentation."""

import json

import dspy
import model_server
import script
from openinference.instrumentation.dspy import DSPyInstrumentor

made = script.provider()
DSPyInstrumentor().instrument(tracer_provider=made)


def fields(name, arguments, request):
    """A step of ReAct as DSPy's adapter of chats has it, or the answer that it asks for in the end."""
    if "`next_tool_name`" not in request["messages"][0]["content"]:
        return f"[[ ## reasoning ## ]]\nIt is known.\n\n[[ ## answer ## ]]\n{arguments}\n\n[[ ## completed ## ]]", []
    name, values = ("finish", {}) if name is None else (name, arguments)
    said = {"next_thought": "I need a tool.", "next_tool_name": name, "next_tool_args": json.dumps(values)}
    return "".join(f"[[ ## {key} ## ]]\n{value}\n\n" for key, value in said.items()) + "[[ ## completed ## ]]", []


dspy.configure(lm=dspy.LM("openai/scripted", api_base=model_server.serve(fields), api_key="none", cache=False))
agent = dspy.ReAct("question -> answer", tools=[script.lookup_order, script.cancel_order, script.list_orders])


def turn(prompt):
    return agent(question=prompt).answer


script.serve(turn, made)
