"""What all ways of building an agent share: tools that write their own log, and what a model does in each situation.

The prompt names the situation. The log has a line for each call of a tool as it ran: it is the truth.
"""

import asyncio
import json
import os
import re
from concurrent.futures import ThreadPoolExecutor

ATTEMPTS: dict[str, int] = {}


def log(tool, arguments, success):
    with open(os.environ["TOOL_LOG"], "a") as file:
        file.write(json.dumps({"tool": tool, "arguments": arguments, "success": success}) + "\n")


def lookup_order(order: str) -> dict:
    """Look an order up.

    Args:
        order: Its number.
    """
    log("lookup_order", {"order": order}, True)
    return {"order": order, "status": "shipped"}


def issue_refund(order: str, amount: int) -> dict:
    """Pay money back.

    Args:
        order: Its number.
        amount: How much.
    """
    if order == "B-04":
        log("issue_refund", {"order": order, "amount": amount}, False)
        raise ValueError("the card is not there any more")
    if order == "R-01" and not ATTEMPTS.setdefault(order, 0):
        ATTEMPTS[order] = 1
        log("issue_refund", {"order": order, "amount": amount}, False)
        raise ConnectionError("try it again")
    log("issue_refund", {"order": order, "amount": amount}, True)
    return {"order": order, "paid": amount}


def ask_expert(order: str) -> str:
    """Ask somebody who knows orders.

    Args:
        order: Its number.
    """
    log("ask_expert", {"order": order}, True)
    with ThreadPoolExecutor(1) as pool:  # whatever loop the framework calls this in
        pool.submit(ENTER[0], "lookup_order", {"order": order}).result()
    return "It is shipped."


async def slow_refund(order: str, amount: int) -> dict:
    """Pay money back, slowly.

    Args:
        order: Its number.
        amount: How much.
    """
    log("slow_refund", {"order": order, "amount": amount}, None)
    await asyncio.sleep(30)
    return {"order": order, "paid": amount}


TOOLS = [lookup_order, issue_refund, ask_expert, slow_refund]
ENTER = [None]
"""How a tool is entered by code of the agent's own, in the way of its framework."""


SITUATIONS = {
    # the prompt, the rounds of calls that the model asks for, and what it says in the end
    "right": ("right: Where is A-17?", [[("lookup_order", {"order": "A-17"})]], "It is shipped."),
    "wrong-argument": ("wrong: Where is A-17?", [[("lookup_order", {"order": "A-71"})]], "It is shipped."),
    "forbidden": ("forbidden: Where is A-17?", [[("issue_refund", {"order": "A-17", "amount": 5})]], "It is shipped."),
    "raises": ("raises: Refund B-04.", [[("issue_refund", {"order": "B-04", "amount": 5})]], "I am done."),
    "parallel": (
        "parallel: Where are A-17 and C-08?",
        [[("lookup_order", {"order": "A-17"}), ("lookup_order", {"order": "C-08"})]],
        "Both are shipped.",
    ),
    "retried": (
        "retried: Refund R-01.",
        [[("issue_refund", {"order": "R-01", "amount": 5})], [("issue_refund", {"order": "R-01", "amount": 5})]],
        "It is paid.",
    ),
    "claim": ("claim: Refund A-17.", [], "I have refunded order A-17."),
    "in-words": ("words: Refund A-17.", [], 'issue_refund(order="A-17", amount=5)'),
    "first-turn": ("first: Hello", [], "Hello!"),
    "two-turns": ("second: Where is C-08?", [[("lookup_order", {"order": "C-08"})]], "C-08 is shipped."),
    "thread": ("thread: Refund A-17.", [], "Done in a thread."),
    "nested": ("nested: Where is A-17?", [], "Done by another tool."),
    "cancelled": ("cancelled: Refund A-17.", [], "I gave up."),
}


def step(messages, one_by_one=False):
    """What the model does next: (words, calls), by the prompt and what was answered since."""
    prompts = [n for n, m in enumerate(messages) if m.get("role") == "user" and situation(text_of(m))]
    last = prompts[-1] if prompts else 0
    name = situation(text_of(messages[last])) if prompts else None
    if name is None:
        return "Hello.", []
    _, rounds, words = SITUATIONS[name]
    rounds = [[call] for calls in rounds for call in calls] if one_by_one else rounds
    said = sum(1 for m in messages[last + 1 :] if m.get("role") == "assistant")
    # Some agents put what was answered into messages of the user, or all of it into one.
    own = text_of(messages[last]).rpartition(SITUATIONS[name][0])[2]
    shown = "\n".join([own, *(text_of(m) for m in messages[last + 1 :] if m.get("role") != "assistant")])
    answered = [shown.count("[[ ## observation_"), len(re.findall(r"^(?:Observation|Error):", shown, re.MULTILINE))]
    done = max(said, *answered)
    return (words, []) if done >= len(rounds) else (None, rounds[done])


def situation(text):
    return next((name for name, (prompt, *_) in SITUATIONS.items() if prompt in text), None)


def text_of(message):
    content = message.get("content")
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")


def drive(prompt, ask, acall=None, call=None):
    """The turn of an agent: `ask` asks its model; `acall` or `call` enters a tool in the way of its framework.

    Three situations are about code next to the model: a thread, a tool within a tool, and a call that is given up.
    """
    name = situation(prompt)
    enter = ENTER[0] = call or (lambda tool, arguments: asyncio.run(acall(tool, arguments)))
    if name == "thread":
        with ThreadPoolExecutor(1) as pool:
            pool.submit(enter, "issue_refund", {"order": "A-17", "amount": 5}).result()
    elif name == "nested":
        enter("ask_expert", {"order": "A-17"})
    elif name == "cancelled" and acall is not None:
        asyncio.run(_give_up(acall))
    return ask(prompt)


async def _give_up(acall):
    task = asyncio.ensure_future(acall("slow_refund", {"order": "A-17", "amount": 5}))
    await asyncio.sleep(0.3)
    task.cancel()
    await asyncio.wait([task], timeout=2)
