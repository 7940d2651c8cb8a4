"""What every emitter's agent can do, and what its scripted model says: no model is asked, the libraries are real.

An emitter is a `command:` agent. It exports its spans to OTEL_EXPORTER_OTLP_ENDPOINT and flushes before it ends.
"""

import json
import os
import sys

TURN = {"number": 0, "prompt": "", "called": []}
"""The turn that runs: what was asked, and the tools that were called in it."""


def lookup_order(order: str) -> dict:
    """Look an order up.

    Args:
        order: Its number.
    """
    _log("lookup_order", {"order": order}, succeeds=True)
    return {"order": order, "status": "shipped"}


def cancel_order(order: str, reason: str) -> dict:
    """Cancel an order.

    Args:
        order: Its number.
        reason: Why.
    """
    _log("cancel_order", {"order": order, "reason": reason}, succeeds=False)
    raise ValueError(f"order {order} is on its way")


def list_orders() -> list:
    """List all orders."""
    _log("list_orders", {}, succeeds=True)
    return ["A-17", "B-04"]


def _log(tool: str, arguments: dict, *, succeeds: bool) -> None:
    """The tool's own word for what happened: the truth that spans are held against."""
    TURN["called"].append(tool)
    if file := os.environ.get("TOOL_LOG"):
        case = os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "").removeprefix("carob.case=").partition("/")[0]
        line = {"case": case, "turn": TURN["number"], "tool": tool, "arguments": arguments, "success": succeeds}
        with open(file, "a") as log:
            log.write(json.dumps(line) + "\n")


def asked(prompt: str) -> tuple[str, dict] | None:
    """The tool that the model asks for, with its arguments."""
    words = prompt.lower()
    if "crash" in words:
        raise RuntimeError("the model is not available")
    if "where is" in words:
        return "lookup_order", {"order": prompt.split()[-1].rstrip("?")}
    if "cancel" in words:
        return "cancel_order", {"order": prompt.split()[-1].rstrip("."), "reason": "late"}
    if "list" in words:
        return "list_orders", {}
    return None


def answer(tool: str | None, result: object) -> str:
    """What the model says in the end."""
    answers = {
        "lookup_order": "Your order is shipped.",
        "cancel_order": "I could not cancel it: it is on its way.",
        "list_orders": "You have two orders: A-17 and B-04.",
    }
    return answers.get(tool or "", "Hello! What can I do for you?")


def next_step() -> tuple[str | None, dict | str]:
    """What a model does next in the turn that runs: call a tool with arguments, or say the answer."""
    wanted = asked(TURN["prompt"])
    if wanted is not None and not TURN["called"]:
        return wanted
    return None, answer(TURN["called"][-1] if TURN["called"] else None, None)


def conversation() -> str:
    """The conversation that Carob chose, as it tells a process that it starts."""
    return os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "").rpartition("/")[2] or "alone"


def provider():
    """A tracer provider of the SDK that exports to where Carob listens."""
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    made = TracerProvider()
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(made)
    return made


def serve(turn, made) -> None:
    """Answer the prompts of one case, in one conversation, and flush."""
    request = json.loads(sys.stdin.readline())
    for prompt in (*request.get("setup_prompts", ()), request["prompt"]):
        TURN.update(number=TURN["number"] + 1, prompt=prompt, called=[])
        try:
            said = {"final_message": turn(prompt)}
        except Exception as error:  # noqa: BLE001  whatever a library raises, the turn failed
            said = {"error": str(error)}
        print(json.dumps(said), flush=True)
    made.force_flush()
    made.shutdown()
