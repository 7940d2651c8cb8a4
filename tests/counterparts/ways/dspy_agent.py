"""DSPy's ReAct."""

import os

import desk
import dspy

TOOLS = {made.__name__: dspy.Tool(made) for made in desk.TOOLS}


async def acall(name, arguments):
    return await TOOLS[name].acall(**arguments)


def answer(prompt):
    model = dspy.LM("openai/scripted", api_base=os.environ["OPENAI_BASE_URL"], api_key="none", cache=False)
    agent = dspy.ReAct("question -> answer", tools=[TOOLS[name] for name in TOOLS if name != "slow_refund"])

    def ask(text):
        with dspy.context(lm=model):
            return agent(question=text).answer

    return desk.drive(prompt, ask, acall)
