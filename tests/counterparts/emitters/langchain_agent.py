"""LangChain's agent with the instrumentation that the first argument names."""

import sys

import script
from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver

made = script.provider()
if sys.argv[1] == "genai":
    from opentelemetry.instrumentation.genai.langchain import LangChainInstrumentor
elif sys.argv[1] == "openinference":
    from openinference.instrumentation.langchain import LangChainInstrumentor
else:
    from opentelemetry.instrumentation.langchain import LangchainInstrumentor as LangChainInstrumentor
LangChainInstrumentor().instrument(tracer_provider=made)


class Scripted(BaseChatModel):
    """A chat model that says what the script says."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def _identifying_params(self):
        return {"model_name": "scripted"}  # a model without a name has no spans

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        last = messages[-1]
        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        if isinstance(last, ToolMessage):
            said = AIMessage(script.answer(last.name, last.content), usage_metadata=usage)
        else:
            prompt = next(m.content for m in reversed(messages) if isinstance(m, HumanMessage))
            wanted = script.asked(prompt)
            calls = [{"name": wanted[0], "args": wanted[1], "id": f"call-{len(messages)}"}] if wanted else []
            said = AIMessage("" if wanted else script.answer(None, None), tool_calls=calls, usage_metadata=usage)
        return ChatResult(generations=[ChatGeneration(message=said)])


def agent():
    from langchain.agents.middleware import wrap_tool_call

    @wrap_tool_call
    def caught(request, handler):
        try:
            return handler(request)
        except ValueError as error:
            return ToolMessage(
                f"Error: {error}", tool_call_id=request.tool_call["id"], name=request.tool_call["name"], status="error"
            )

    tools = [script.lookup_order, script.cancel_order, script.list_orders]
    return create_agent(Scripted(), tools, middleware=[caught], checkpointer=InMemorySaver())


graph = agent()


def turn(prompt):
    config = {"configurable": {"thread_id": script.conversation()}, "metadata": {"session_id": script.conversation()}}
    return graph.invoke({"messages": [HumanMessage(prompt)]}, config)["messages"][-1].content


script.serve(turn, made)
