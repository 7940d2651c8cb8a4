"""`langchain:module:agent`: an agent of LangChain, an AgentExecutor, or another runnable.

Graphs with interrupts or with a state of their own are targets of `langgraph:`.
"""

from __future__ import annotations

from typing import Any

from carob.features.frameworks.base import AgentReply, FrameworkAgent
from carob.plugins.features import load
from carob.targets.base import TargetError
from carob.text.wording import join_words

HISTORY = ("chat_history", "history", "messages")
"""What a prompt of LangChain calls what was said before."""


class LangChainAgent(FrameworkAgent):
    package, modules = "langchain-core", ("langchain_core",)
    classes = ("Runnable", "CompiledStateGraph")

    def __init__(self, agent: Any, given: Any, conversation_id: str) -> None:
        super().__init__(agent, given, conversation_id)
        self._history: list[Any] = []

    async def ask(self, prompt: Any) -> AgentReply:
        heard: list[Any] = []
        ids = {"thread_id": self.conversation_id, "session_id": self.conversation_id}
        config = {"configurable": ids, "callbacks": [_listener(heard)]}
        asked = load("langchain_core.messages:HumanMessage")(prompt)
        if hasattr(self.agent, "checkpointer"):
            return await self._ask_graph(asked, config, heard)
        done = await self.agent.ainvoke(self._input(prompt), config)
        output = done.get("output", done) if isinstance(done, dict) else done
        said = output if hasattr(output, "tool_calls") else load("langchain_core.messages:AIMessage")(str(output))
        self._history += [asked, said]
        return AgentReply(said.text if said is output else output, [each.model_dump() for each in heard])

    async def _ask_graph(self, asked: Any, config: dict[str, Any], heard: list[Any]) -> AgentReply:
        before = [] if self.agent.checkpointer else self._history
        state = await self.agent.ainvoke({"messages": [*before, asked]}, config)
        new = state["messages"][len(self._history) + 1 :]
        self._history = state["messages"]
        said = [*heard, *(each for each in new if each.type == "tool")]
        return AgentReply(state.get("structured_response") or _text(new), [each.model_dump() for each in said])

    def _input(self, prompt: Any) -> object:
        """What the runnable takes: the words alone, or a dict with one key besides what was said before."""
        keys = getattr(self.agent, "input_keys", None)
        if keys == []:  # an AgentExecutor that does not say them
            return {"input": prompt, "chat_history": self._history}
        names = keys or [*self.agent.get_input_jsonschema().get("properties", ())]
        if not names:
            return prompt
        history = {name: self._history for name in names if name in HISTORY}
        others = [name for name in names if name not in HISTORY]
        if len(others) != 1:
            raise TargetError(
                "config", f"the prompt fills one input of the runnable, and it has {join_words(others, 'and')}"
            )
        return {**history, others[0]: prompt}


def _listener(heard: list[Any]) -> Any:
    """A callback that hears each reply of a model, wherever it is asked."""

    async def on_llm_end(self: Any, response: Any, **_: Any) -> None:
        generations = (each for batch in response.generations for each in batch)
        heard.extend(each.message for each in generations if hasattr(each, "message"))

    return type("Listener", (load("langchain_core.callbacks:AsyncCallbackHandler"),), {"on_llm_end": on_llm_end})()


def _text(messages: list[Any]) -> str:
    return next((str(each.text) for each in reversed(messages) if each.type == "ai" and each.text), "")
