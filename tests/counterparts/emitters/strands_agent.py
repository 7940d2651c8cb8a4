"""strands with its own tracing."""

import json

import script
from strands import Agent, tool

try:
    from strands.models.model import Model
except ImportError:  # in 0.2
    from strands.types.models import Model

made = script.provider()


class Scripted(Model):
    """A model that says what the script says."""

    def update_config(self, **config):
        pass

    def get_config(self):
        return {"model_id": "scripted"}

    async def structured_output(self, *args, **kwargs):
        yield {}

    def format_request(self, messages, *args, **kwargs):
        """What 0.2 hands to `stream`."""
        return messages

    def format_chunk(self, event):
        """What 0.2 makes of an event."""
        return event

    async def stream(self, messages, *args, **kwargs):
        last = messages[-1]["content"]
        done = next((block["toolResult"] for block in last if "toolResult" in block), None)
        yield {"messageStart": {"role": "assistant"}}
        if done is not None:
            text, wanted = script.answer(self.called, done), None
        else:
            wanted = script.asked(next(block["text"] for block in last if "text" in block))
            text = script.answer(None, None)
        if wanted is None:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": text}}}
        else:
            self.called = wanted[0]
            yield {"contentBlockStart": {"start": {"toolUse": {"name": wanted[0], "toolUseId": f"t{len(messages)}"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(wanted[1])}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if wanted else "end_turn"}}
        usage = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}


agent = Agent(
    Scripted(),
    name="orders",
    tools=[tool(script.lookup_order), tool(script.cancel_order), tool(script.list_orders)],
    callback_handler=None,
    trace_attributes={"session.id": script.conversation()},
)


def turn(prompt):
    return str(agent(prompt)).strip()


script.serve(turn, made)
