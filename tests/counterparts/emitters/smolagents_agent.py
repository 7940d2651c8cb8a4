"""smolagents with OpenInference's instrumentation: the agent that writes code, or the one that calls tools."""

import sys

import model_server
import script
from openinference.instrumentation.smolagents import SmolagentsInstrumentor
from smolagents import CodeAgent, LogLevel, OpenAIServerModel, ToolCallingAgent, tool

made = script.provider()
SmolagentsInstrumentor().instrument(tracer_provider=made)
in_code = sys.argv[1] == "code"


def code(name, arguments, request):
    """A step of a code agent: its words are the code that it runs."""
    if name is None:
        return f"Thought: I know the answer.\n<code>\nfinal_answer({arguments!r})\n</code>", []
    text = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    return f"Thought: I need a tool.\n<code>\nprint({name}({text}))\n</code>", []


def calls(name, told, request):
    return None, [("final_answer", {"answer": told}) if name is None else (name, told)]


model = OpenAIServerModel("scripted", api_base=model_server.serve(code if in_code else calls), api_key="none")
tools = [tool(script.lookup_order), tool(script.cancel_order), tool(script.list_orders)]
agent = (CodeAgent if in_code else ToolCallingAgent)(tools=tools, model=model, verbosity_level=LogLevel.OFF)


def turn(prompt):
    return str(agent.run(prompt, reset=False))


script.serve(turn, made)
