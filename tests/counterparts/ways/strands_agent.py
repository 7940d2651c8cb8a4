"""strands, in its present form and in that of 0.2."""

import os

import desk
from strands import Agent, tool

TOOLS = {made.__name__: tool(made) for made in desk.TOOLS}


async def acall(name, arguments):
    use = {"name": name, "toolUseId": f"own-{name}", "input": arguments}
    last = None
    async for event in TOOLS[name].stream(use, {}):
        last = event
    return last


def call(name, arguments):
    """In 0.2, tools are called so."""
    return TOOLS[name].invoke({"name": name, "toolUseId": f"own-{name}", "input": arguments})


def answer(prompt, conversation):
    from strands.models.openai import OpenAIModel

    model = OpenAIModel(client_args={"base_url": os.environ["OPENAI_BASE_URL"], "api_key": "none"}, model_id="scripted")
    tools = [made for name, made in TOOLS.items() if name != "slow_refund"]
    agent = Agent(model, tools=tools, callback_handler=None, messages=conversation.state.get("messages", []))

    def ask(text):
        said = str(agent(text)).strip()
        conversation.state["messages"] = agent.messages
        return said

    return desk.drive(prompt, ask, **({"acall": acall} if hasattr(TOOLS["lookup_order"], "stream") else {"call": call}))
