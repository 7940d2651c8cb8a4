import os

import desk
import dspy

dspy.configure(lm=dspy.LM("openai/scripted", api_base=os.environ["OPENAI_BASE_URL"], api_key="none", cache=False))
agent = dspy.ReAct("question, history: dspy.History -> answer", tools=desk.TOOLS[:2])
