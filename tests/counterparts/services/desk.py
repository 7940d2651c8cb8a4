"""The loop of an agent with two tools, as a service has it, with OpenAI's own client."""

import json
import os

from openai import OpenAI

CLIENT = OpenAI(max_retries=0, timeout=5)


def describe(name):
    properties = {"order": {"type": "string"}}
    function = {"name": name, "parameters": {"type": "object", "properties": properties, "required": ["order"]}}
    return {"type": "function", "function": function}


SORRY = "Sorry, I cannot look that up now. Please try again later."
TOOLS = [describe("find_order"), describe("refund")]


def use(name, arguments):
    order = arguments["order"]
    with open(os.environ["DESK_LOG"], "a") as log:
        log.write(json.dumps([name, arguments]) + "\n")
    return {"order": order, "status": "shipped" if name == "find_order" else "refunded"}


def answer(prompt):
    messages = [{"role": "user", "content": prompt}]
    for _ in range(4):
        try:
            said = CLIENT.chat.completions.create(model="m", messages=messages, tools=TOOLS).choices[0].message
        except Exception:  # noqa: BLE001 - the desk admits whatever went wrong
            return SORRY
        if not said.tool_calls:
            return said.content or SORRY
        messages.append(said.model_dump(exclude_none=True))
        for call in said.tool_calls:
            try:
                result = use(call.function.name, json.loads(call.function.arguments))
            except (ValueError, KeyError, TypeError) as error:
                result = {"error": f"bad arguments: {error}"}
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})
    return "Sorry, that took too long."
