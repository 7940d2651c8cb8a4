"""CrewAI with OpenInference's instrumentation, of it and of the client of its model."""

import contextlib
import os
import sys

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false", "OPENAI_API_KEY": "none"}

import model_server
import script
from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from openinference.instrumentation.crewai import CrewAIInstrumentor
from openinference.instrumentation.openai import OpenAIInstrumentor

made = script.provider()
CrewAIInstrumentor().instrument(tracer_provider=made)
OpenAIInstrumentor().instrument(tracer_provider=made)  # that of CrewAI makes no spans of model calls

llm = LLM(model="openai/gpt-4o-mini", base_url=model_server.serve(), api_key="none")
tools = [tool(one.__name__)(one) for one in (script.lookup_order, script.cancel_order, script.list_orders)]
agent = Agent(role="orders", goal="Answer questions about orders.", backstory="A desk.", llm=llm, tools=tools)


def turn(prompt):
    task = Task(description=prompt, expected_output="An answer.", agent=agent)
    with contextlib.redirect_stdout(sys.stderr):
        return str(Crew(agents=[agent], tasks=[task], verbose=False).kickoff())


script.serve(turn, made)
