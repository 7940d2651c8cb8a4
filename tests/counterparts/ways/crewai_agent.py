"""CrewAI."""

import asyncio
import os

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false", "OPENAI_API_KEY": "none"}

import desk
from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool

TOOLS = {made.__name__: tool(made.__name__)(made) for made in desk.TOOLS}


def call(name, arguments):
    return TOOLS[name].run(**arguments)


async def acall(name, arguments):
    made = TOOLS[name]
    return await (made.arun(**arguments) if name == "slow_refund" else asyncio.to_thread(made.run, **arguments))


def answer(prompt):
    llm = LLM(model="openai/gpt-4o-mini", base_url=os.environ["OPENAI_BASE_URL"], api_key="none")
    tools = [made for name, made in TOOLS.items() if name != "slow_refund"]
    agent = Agent(role="desk", goal="Answer.", backstory="A desk.", llm=llm, tools=tools)

    def ask(text):
        task = Task(description=text, expected_output="An answer.", agent=agent)
        return str(Crew(agents=[agent], tasks=[task], verbose=False).kickoff())

    return desk.drive(prompt, ask, acall)
