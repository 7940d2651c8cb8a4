"""The desk of every framework: tools that write their own log, and what its model does in each row of cases.json."""

import asyncio
import json
import os
from pathlib import Path

CASES = json.loads((Path(__file__).parent / "cases.json").read_text())
GREETING = "Hello!"


def log(tool, arguments, success):
    with open(os.environ["TOOL_LOG"], "a") as file:
        file.write(json.dumps([tool, arguments, success]) + "\n")


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
    log("issue_refund", {"order": order, "amount": amount}, not order.startswith("B"))
    if order.startswith("B"):
        raise ValueError("the card is not there any more")
    return {"order": order, "paid": amount}


async def check_stock(order: str) -> dict:
    """Look into the store.

    Args:
        order: Its number.
    """
    await asyncio.sleep(0)
    log("check_stock", {"order": order}, True)
    return {"order": order, "in_stock": 3}


TOOLS = [lookup_order, issue_refund, check_stock]


def step(messages, one_by_one=False):
    """What the model does next: (words, calls), by the last prompt and what was answered since."""
    last, case, turn = find_turn(messages)
    if case is None or ((turns := case.get("turns", ())) and turn < len(turns) - 1):
        return GREETING, []
    if case["rounds"] is None:
        raise ConnectionError("the model is broken")
    if turn > 0 and not any(case["turns"][0] in text_of(message) for message in messages):
        return "Who are you?", []
    rounds = [[(call["tool"], call["arguments"]) for call in calls] for calls in case["rounds"]]
    rounds = [[call] for calls in rounds for call in calls] if one_by_one else rounds
    since = messages[last + 1 :]
    shown = "\n".join(text_of(each) for each in messages[last:] if each.get("role") != "assistant")
    done = max(sum(each.get("role") == "assistant" for each in since), shown.count("[[ ## observation_"))
    return (case["words"], []) if done >= len(rounds) else (None, rounds[done])


def find_turn(messages):
    """The place of the last prompt, its case, and which of its prompts it is."""
    for place in reversed(range(len(messages))):
        text = text_of(messages[place]) if messages[place].get("role") == "user" else ""
        for case in CASES:
            for turn, prompt in reversed([*enumerate(case.get("turns") or [case["prompt"]])]):
                if prompt in text:
                    return place, case, turn
    return 0, None, 0


def text_of(message):
    content = message.get("content")
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")
