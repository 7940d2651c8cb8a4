"""The sound agent: rules in the place of a model, and everything that can go wrong around it minded."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode

from order_desk.tools import TOOLS

ORDER = re.compile(r"\b([A-Z]-\d+)\b")
LOST = re.compile(r"timed out|timeout|no answer", re.IGNORECASE)
TEMPORARY = re.compile(r"\b(?:429|5\d\d)\b")
Graph = CompiledStateGraph[MessagesState, None, MessagesState, MessagesState]


class Call(NamedTuple):
    """A tool that the agent wants to call."""

    tool: str
    arguments: dict[str, object]


class Result(NamedTuple):
    """What came of a call: text, and whether that is an error."""

    text: str
    failed: bool


class Turn:
    """What the user wants, and what was done for it so far."""

    def __init__(self, messages: Sequence[AnyMessage]) -> None:
        last = max(index for index, message in enumerate(messages) if isinstance(message, HumanMessage))
        self.prompt = str(messages[last].content)
        found = ORDER.search(self.prompt)
        self.key = found[1] if found else ""
        asked = {c["id"]: c["name"] for m in messages[last:] if isinstance(m, AIMessage) for c in m.tool_calls}
        self.results = [
            (asked[message.tool_call_id], Result(str(message.content), message.status == "error"))
            for message in messages[last:]
            if isinstance(message, ToolMessage)
        ]

    def of(self, tool: str) -> list[Result]:
        """Every result of a tool."""
        return [result for name, result in self.results if name == tool]


class Desk:
    """Decides what to do next. Weak agents replace one of its methods."""

    retries = 2

    def next(self, turn: Turn) -> Call | str:
        """The next call, or the answer."""
        if "mail M-" in turn.prompt:
            return self.mail(turn)
        if "Refund" in turn.prompt:
            return self.refund(turn)
        return self.where(turn)

    def tried(self, turn: Turn, tool: str, arguments: dict[str, object]) -> Call | Result:
        """The result of a tool, after as many retries as make sense."""
        results = turn.of(tool)
        if not results or self.again(results, tool):
            return Call(tool, arguments)
        return results[-1]

    def again(self, results: Sequence[Result], tool: str) -> bool:
        """Whether a call is worth another try: not where it may have taken effect, not where it is refused."""
        last = results[-1]
        harmless = tool in ("get_order", "read_mail")
        worth_it = TEMPORARY.search(last.text) or (harmless and LOST.search(last.text))
        return last.failed and bool(worth_it) and len(results) <= self.retries

    def order(self, turn: Turn) -> Call | dict[str, object] | str:
        """The data of the order, or why there are none."""
        found = self.tried(turn, "get_order", {"order": turn.key})
        if isinstance(found, Call):
            return found
        if found.failed:
            return self.no_data(turn, found)
        return self.read_order(turn, found.text)

    def read_order(self, turn: Turn, text: str) -> dict[str, object] | str:
        """The data of an order, if they are those of this one and whole."""
        try:
            data = json.loads(text)
        except ValueError:
            return f"I could not read the data of order {turn.key}, so I have done nothing."
        if data == {}:
            return self.nothing_found(turn)
        if not isinstance(data, dict) or not isinstance(data.get("status"), str) or not _is_amount(data.get("total")):
            return f"The data of order {turn.key} are incomplete, so I have done nothing."
        return self.checked(turn, data)

    def checked(self, turn: Turn, data: dict[str, object]) -> dict[str, object] | str:
        """The data, if they are about what was asked for."""
        if data.get("order") != turn.key:
            return f"I was given the data of another order than {turn.key}, so I have done nothing."
        return data

    def nothing_found(self, turn: Turn) -> str:
        return f"There is no order {turn.key} in our system."

    def no_data(self, turn: Turn, found: Result) -> str:
        return f"I could not look up order {turn.key}, because our system does not respond. Please try again later."

    def where(self, turn: Turn) -> Call | str:
        data = self.order(turn)
        return data if isinstance(data, Call | str) else self.status(turn, data)

    def status(self, turn: Turn, data: dict[str, object]) -> str:
        return f"Order {turn.key} is {data['status']}, as of {data['updated']}."

    def refund(self, turn: Turn) -> Call | str:
        data = self.order(turn)
        if isinstance(data, Call | str):
            return data
        paid = self.tried(turn, "issue_refund", {"order": turn.key, "amount": data["total"]})
        if isinstance(paid, Call):
            return paid
        if paid.failed or not self.is_done(paid.text):
            return self.not_paid(turn, paid, data)
        answer = f"I have refunded {data['total']} for order {turn.key}."
        return answer if "mail" not in turn.prompt else self.tell_customer(turn, data, answer)

    def is_done(self, text: str) -> bool:
        try:
            data = json.loads(text)
        except ValueError:
            return False
        return isinstance(data, dict) and data.get("state") == "done"

    def not_paid(self, turn: Turn, found: Result, data: dict[str, object]) -> Call | str:
        if found.failed and not LOST.search(found.text):
            return f"The refund of order {turn.key} failed. Nothing was paid."
        return f"I could not confirm the refund of order {turn.key}. A colleague will check it before anything is paid."

    def tell_customer(self, turn: Turn, data: dict[str, object], answer: str) -> Call | str:
        sent = self.tried(
            turn, "send_mail", {"to": data["customer"], "text": f"Your refund for {turn.key} is on its way."}
        )
        if isinstance(sent, Call):
            return sent
        if sent.failed or '"accepted"' not in sent.text:
            return self.not_sent(turn, answer)
        return f"{answer} The customer was mailed."

    def not_sent(self, turn: Turn, answer: str) -> str:
        return f"{answer} The mail to the customer could not be sent."

    def mail(self, turn: Turn) -> Call | str:
        found = self.tried(turn, "read_mail", {"mail": turn.key})
        if isinstance(found, Call):
            return found
        if found.failed:
            return f"I could not open mail {turn.key}."
        try:
            data = json.loads(found.text)
            sender, body = data["from"], data["body"].splitlines()[0]
        except (ValueError, KeyError, TypeError, AttributeError, IndexError):
            return f"I could not read mail {turn.key}."
        if data.get("mail") != turn.key:
            return f"I was given another mail than {turn.key}, so I cannot say."
        return self.summary(turn, data, f"{sender} writes: {body}")

    def summary(self, turn: Turn, data: dict[str, str], words: str) -> Call | str:
        """What to do once a mail was read: its words are data, and no instructions."""
        return words

    def graph(self) -> Graph:
        """The agent as a graph: rules → tools → rules, until there are words."""

        def decide(state: MessagesState) -> dict[str, list[AnyMessage]]:
            turn = Turn(state["messages"])
            step = self.next(turn)
            if isinstance(step, str):
                return {"messages": [AIMessage(step)]}
            call = {"name": step.tool, "args": step.arguments, "id": f"call-{len(state['messages'])}"}
            return {"messages": [AIMessage("", tool_calls=[call])]}

        builder = StateGraph(MessagesState)
        builder.add_node("desk", decide)
        builder.add_node("tools", ToolNode(TOOLS, handle_tool_errors=True))
        builder.add_edge(START, "desk")
        builder.add_conditional_edges("desk", lambda state: "tools" if state["messages"][-1].tool_calls else END)
        builder.add_edge("tools", "desk")
        return builder.compile(name="order-desk")


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def sound() -> Graph:
    """The agent that holds."""
    return Desk().graph()
