import asyncio
import os

import desk
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike


def model(structured):
    about = {"is_chat_model": True, "is_function_calling_model": structured}
    return OpenAILike(model="scripted", api_base=os.environ["OPENAI_BASE_URL"], api_key="none", max_retries=0, **about)


def as_tool(made):
    key = "async_fn" if asyncio.iscoroutinefunction(made) else "fn"
    return FunctionTool.from_defaults(**{key: made}, name=made.__name__)


tools = [*map(as_tool, desk.TOOLS)]
agent = FunctionAgent(name="desk", description="A desk.", tools=tools, llm=model(True))
workflow = AgentWorkflow(agents=[agent], root_agent="desk")
react = ReActAgent(tools=tools, llm=model(False))
