"""`python -m benchmarks.programs.conversations N FOLDER`: N conversations of 2 KB as JSONL, OTLP lines and Parquet.

No two are equal. One in 200 breaks the first rule, so that a program that judges nothing is noticed.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

POLICY = """\
carob: 1
tools: { writes: ["cancel_*", refund] }
rules:
  - { id: explicit-yes, each: { call: "@writes" }, needs: { last_user: ["@yes"] } }
  - id: look-first
    each: { call: refund, arguments: { order: { $as: id } } }
    needs: { before: { call: get_order, success: true, arguments: { order: { $same: id } } } }
  - id: no-more-than-due
    each: { call: refund, arguments: { order: { $as: id } } }
    needs:
      last: { call: get_order, arguments: { order: { $same: id } } }
      where: each.arguments.amount <= last.result.total
  - { id: one-refund, each: { call: refund, success: true, arguments: { order: { $as: id } } }, at_most: 1 }
  - { id: refunds-under-500, each: { call: refund, success: true }, total: each.arguments.amount, at_most: 500 }
  - { id: nothing-after-a-handover, each: { call: call_a_person, success: true }, forbids: { after: { call: "*" } } }
  - id: tickets-are-closed
    each: { call: open_ticket, success: true, result: { id: { $as: t } } }
    needs: { after: { call: close_ticket, arguments: { id: { $same: t } } } }
  - { id: one-at-a-time, each: { call: "@writes" }, where: "!each.parallel" }
  - { id: one-customer, each: { call: "get_user*" }, same: each.arguments.user_id }
  - { id: order-was-given, each: { call: refund }, values_from: { each.arguments.order: [user, get_order] } }
"""
BROKEN_EVERY = 200
REFUNDED_EVERY = 3
"""One in three conversations leads to a refund: the others only look things up."""
BATCH = 4_096


def conversation(number: int) -> dict[str, Any]:
    """One conversation: a user, an order, and in some of them a refund that the user agreed to."""
    chance = random.Random(number)
    order, total = f"A-{number}", 40 + chance.randrange(200)
    items = [{"sku": f"S-{chance.randrange(10_000)}", "count": chance.randrange(1, 4)} for _ in range(6)]
    lookup = {"order": order, "total": total, "items": items, "state": "delivered"}
    complaint = chance.choice(["It broke on the first day.", "It is not what I saw in the shop.", "It came too late."])
    agreed = number % BROKEN_EVERY > 0
    messages = [
        {"role": "system", "content": "You are the desk agent of a shop. Look an order up before you touch it. " * 3},
        {"role": "user", "content": f"My order is {order}. {complaint} {complaint} What can you do for me?"},
        *_call(0, "get_user", {"user_id": f"u-{number % 5_000}"}, {"id": f"u-{number % 5_000}", "since": 2019}),
        *_call(1, "get_order", {"order": order}, lookup),
        {
            "role": "assistant",
            "content": f"{order} came to {total} EUR. Shall I refund it to the card that you paid with?",
        },
    ]
    if number % REFUNDED_EVERY == 0:
        messages.append({"role": "user", "content": "Yes, please do it." if agreed else "How long would that take?"})
        messages += _call(2, "refund", {"order": order, "amount": total}, {"ok": True, "refunded": total})
        messages.append({"role": "assistant", "content": f"I refunded {total} EUR. You will have it in three days."})
    else:
        messages.append({"role": "user", "content": "No, I will think about it first."})
        messages.append({"role": "assistant", "content": "Take your time. The offer holds for two weeks from now."})
    day = 1 + number % 28
    return {
        "id": f"c-{number}",
        "messages": messages,
        "user": f"u-{number % 5_000}",
        "model": chance.choice(["large-2", "small-2"]),
        "created_at": f"2026-10-{day:02d}T{number % 24:02d}:15:00Z",
    }


def _call(number: int, name: str, arguments: dict[str, Any], result: dict[str, Any]) -> list[dict[str, Any]]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    asked = {"role": "assistant", "content": None, "tool_calls": [{"id": f"call-{number}", "function": function}]}
    return [asked, {"role": "tool", "tool_call_id": f"call-{number}", "content": json.dumps(result)}]


def write_jsonl(count: int, path: Path) -> None:
    with path.open("w") as file:
        for number in range(count):
            file.write(f"{json.dumps(conversation(number))}\n")


def write_parquet(count: int, path: Path) -> None:
    """A row for each conversation, its messages as JSON, as warehouses keep them."""
    import pyarrow
    from pyarrow import parquet

    fields = [(name, pyarrow.string()) for name in ("id", "messages", "user", "model", "created_at")]
    schema = pyarrow.schema(fields)
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for start in range(0, count, BATCH):
            rows = [conversation(number) for number in range(start, min(start + BATCH, count))]
            rows = [{**row, "messages": json.dumps(row["messages"])} for row in rows]
            writer.write_batch(pyarrow.RecordBatch.from_pylist(rows, schema=schema))


def write_otlp(count: int, path: Path) -> None:
    """A request of one trace on each line: the agent, its last model call with all messages, and its tools."""
    with path.open("w") as file:
        for number in range(count):
            file.write(f"{json.dumps(_request(number))}\n")


def _request(number: int) -> dict[str, Any]:
    row = conversation(number)
    messages = row["messages"]
    trace, start = f"{number + 1:032x}", 1_790_000_000_000_000_000 + number * 10**9
    about = {"gen_ai.conversation.id": row["id"], "user.id": row["user"]}
    spans = [_span(trace, 1, 0, "invoke_agent desk", start, {"gen_ai.operation.name": "invoke_agent", **about})]
    said = {"gen_ai.input.messages": json.dumps(messages[:-1]), "gen_ai.output.messages": json.dumps(messages[-1:])}
    spans.append(_span(trace, 2, 1, "chat", start + 9, {"gen_ai.operation.name": "chat", **said}))
    spans += [
        _span(trace, 3 + at, 1, name, start + at + 1, attributes)
        for at, (name, attributes) in enumerate(_tools(messages))
    ]
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": spans}]}]}


def _tools(messages: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, str]]]:
    for at, message in enumerate(messages):
        for call in message.get("tool_calls", ()):
            yield (
                f"execute_tool {call['function']['name']}",
                {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": call["function"]["name"],
                    "gen_ai.tool.call.id": call["id"],
                    "gen_ai.tool.call.arguments": call["function"]["arguments"],
                    "gen_ai.tool.call.result": messages[at + 1]["content"],
                },
            )


def _span(trace: str, span: int, parent: int, name: str, start: int, attributes: dict[str, str]) -> dict[str, Any]:
    listed = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    above = {"parentSpanId": f"{parent:016x}"} if parent else {}
    ids = {"traceId": trace, "spanId": f"{span:016x}", **above}
    return {
        **ids,
        "name": name,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 10),
        "attributes": listed,
    }


WRITERS = {"jsonl": write_jsonl, "parquet": write_parquet, "otlp": write_otlp}


def main() -> None:
    count, folder = int(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "policy.carob.yaml").write_text(POLICY)
    for name in sys.argv[3:] or WRITERS:
        suffix = "jsonl" if name == "otlp" else name
        WRITERS[name](count, folder / f"{name}.{suffix}")


if __name__ == "__main__":
    main()
