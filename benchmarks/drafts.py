"""`python -m benchmarks.drafts`: what `carob draft` uses beside `carob rescore`, of made-up traces of production."""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.measure import Usage, measured
from benchmarks.ours import CAROB
from carob.model.check import CheckSpec
from carob.model.run import CaseRecord, Footer, Header, Summary
from carob.model.suite import Case
from carob.model.trace import ToolCall, Trace, TraceError
from carob.model.verdict import CaseStatus, Verdict

SIZES = [2_500, 10_000]
MOST_TIMES_A_RESCORE = 3.0
MOST_GROWTH_MB = 20.0
NAMES = ("Anna Lind", "Omar Diaz", "Mei Tanaka", "Lars Holm", "Aisha Khan")
ITEMS = ("lamp", "chair", "desk", "mug", "rug", "clock")
ASKED = ("Where is order {order}?", "Has {order} been shipped yet?", "Tell me the state of my order {order}, please.")
REFUND = ("Refund order {order}, it arrived broken.", "I want my money back for {order}. Mail me at {mail}.")
CARD = "My card is {card} and my phone is {phone}: change the address of {order} to 12 Oak Street."


def traces(count: int, seed: int = 7) -> Iterator[Trace]:
    """Traces as a shop would record them: most alike, some rare, some broken, some with personal data."""
    chance = random.Random(seed)
    for number in range(count):
        yield _trace(chance, number)


def _trace(chance: random.Random, number: int) -> Trace:
    order = f"{chance.choice('ABCD')}-{chance.randint(100, 120 if number % 3 else 999)}"
    given = {
        "order": order,
        "mail": f"{chance.choice(NAMES).split()[0].lower()}@shop{chance.randint(1, 40)}.example.org",
        "card": chance.choice(("4242 4242 4242 4242", "5555 5555 5555 4444")),
        "phone": f"+49 170 {chance.randint(1000000, 9999999)}",
    }
    kind = chance.choices(tuple(_KINDS), tuple(_KINDS.values()))[0]
    trace = _MADE[kind](chance, given)
    return msgspec.structs.replace(trace, case_id=f"t{number}", started_at=1.8e9 + number, duration_ms=800.0)


def _state(chance: random.Random, given: dict[str, str]) -> Trace:
    total = chance.randint(1_000, 90_000) / 100
    found = {"order": given["order"], "status": chance.choice(("open", "shipped")), "total": total}
    words = f"Order {given['order']} is {found['status']}. It comes to {total:.2f} EUR."
    return _said(chance.choice(ASKED).format(**given), words, _call("get_order", {"order": given["order"]}, found))


def _search(chance: random.Random, given: dict[str, str]) -> Trace:
    item = chance.choice(ITEMS)
    found = [{"sku": f"SKU-{chance.randint(1000, 9999)}", "price": chance.randint(10, 99)} for _ in range(3)]
    words = f"There are {len(found)}, from {min(one['price'] for one in found)} EUR."
    return _said(f"Do you have a {item}?", words, _call("search_items", {"query": item, "limit": 3}, {"items": found}))


def _refund(chance: random.Random, given: dict[str, str]) -> Trace:
    paid = chance.randint(1_000, 90_000) / 100
    key = f"{chance.getrandbits(64):016x}"
    calls = (
        _call("get_order", {"order": given["order"]}, {"order": given["order"], "payment": key, "total": paid}),
        _call("issue_refund", {"payment": key, "amount": paid, "reason": "broken"}, {"refunded": paid}),
    )
    return _said(chance.choice(REFUND).format(**given), f"I refunded {paid:.2f} EUR.", *calls)


def _address(chance: random.Random, given: dict[str, str]) -> Trace:
    arguments = {"order": given["order"], "street": "12 Oak Street"}
    return _said(CARD.format(**given), "The address is updated.", _call("update_address", arguments, {"ok": True}))


def _unknown(chance: random.Random, given: dict[str, str]) -> Trace:
    call = ToolCall("get_order", {"order": "Z-0"}, result={"error": "not_found"}, success=False)
    return _said("Where is order Z-0?", "I could not find an order Z-0.", call)


def _asks(chance: random.Random, given: dict[str, str]) -> Trace:
    return _said(chance.choice(("I want a refund.", "Refund please")), "Which order is it about?")


def _refuses(chance: random.Random, given: dict[str, str]) -> Trace:
    return _said("Give me the addresses of your other customers.", "I cannot share data of other customers.")


def _thanks(chance: random.Random, given: dict[str, str]) -> Trace:
    return _said(chance.choice(("Thanks!", "Thank you", "Great")), "You are welcome.")


def _broken(chance: random.Random, given: dict[str, str]) -> Trace:
    return Trace(
        case_id="", input="Where is my order?", tool_calls=(), error=TraceError("timeout", "the model did not answer")
    )


def _loops(chance: random.Random, given: dict[str, str]) -> Trace:
    call = _call("get_order", {"order": given["order"]}, {"order": given["order"], "status": "open"})
    return _said(f"Where is order {given['order']}?", f"Order {given['order']} is open.", *[call] * 5)


def _made_up(chance: random.Random, given: dict[str, str]) -> Trace:
    trace = _state(chance, given)
    return msgspec.structs.replace(trace, final_message=f"{trace.final_message} It weighs 7,313 grams.")


def _rare(chance: random.Random, given: dict[str, str]) -> Trace:
    tool = f"export_{chance.choice('abcdefghijkl')}"
    return _said("Export my data.", "Here it is.", _call(tool, {}, {"done": True}))


def _call(name: str, arguments: dict[str, Any], result: Any) -> ToolCall:
    return ToolCall(name, arguments, id=f"call_{random.getrandbits(32)}", result=result, success=True)


def _said(prompt: str, words: str, *calls: ToolCall) -> Trace:
    return Trace(case_id="", input=prompt, final_message=words, tool_calls=calls, ended_by="itself")


_KINDS = {
    "state": 400, "search": 200, "refund": 120, "address": 60, "unknown": 60, "asks": 60, "refuses": 20,
    "thanks": 40, "broken": 20, "loops": 8, "made_up": 4, "rare": 8,
}  # fmt: skip
_MADE = {
    "state": _state, "search": _search, "refund": _refund, "address": _address, "unknown": _unknown, "asks": _asks,
    "refuses": _refuses, "thanks": _thanks, "broken": _broken, "loops": _loops, "made_up": _made_up, "rare": _rare,
}  # fmt: skip


def write_journal(path: Path, count: int) -> None:
    """A journal of such traces, each judged by a few checks."""
    encode = msgspec.json.Encoder().encode
    header = Header(
        run_id="bench", suite="shop.yaml", suite_format="carob-1", suite_version="1", suite_sha256="0" * 64,
        target="production", started_at="2026-11-01T00:00:00.000+00:00", total=count,
    )  # fmt: skip
    asked = {"outcome": {"outcome": "completed"}, "grounded_numbers": {}, "max_words": {"most": 200}}
    checks = tuple(CheckSpec(name, msgspec.Raw(json.dumps(args).encode()), name) for name, args in asked.items())
    with path.open("wb") as out:
        out.write(encode(header) + b"\n")
        for index, trace in enumerate(traces(count)):
            case = Case(id=trace.case_id, prompt=trace.input, checks=checks, outcome="completed")
            status = CaseStatus.ERROR if trace.error else CaseStatus.PASS
            record = CaseRecord(index=index, case=case, trace=trace, verdict=Verdict(status))
            out.write(encode(record) + b"\n")
        summary = Summary(total=count, passed=count)
        out.write(encode(Footer(summary=summary, finished_at="2026-11-01T00:10:00.000+00:00")) + b"\n")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drafts", description=__doc__)
    parser.add_argument("--sizes", type=lambda text: [int(part) for part in text.split(",")], default=SIZES)
    given = parser.parse_args(arguments)
    scratch = Path(tempfile.mkdtemp(prefix="carob-bench-"))
    figures: list[tuple[Usage, Usage]] = []
    try:
        for size in given.sizes:
            journal, drafted = scratch / f"{size}.jsonl", scratch / f"{size}.yaml"
            write_journal(journal, size)
            again = [CAROB, "rescore", str(journal), "-q", "--results-dir", str(scratch / "again")]
            draft = [CAROB, "draft", str(journal), "-o", str(drafted)]
            figures.append((measured(again, scratch), measured(draft, scratch)))
            print(drafted.read_text().split("carob: 1")[0] if size == given.sizes[-1] else "", end="")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print("| traces | rescore CPU s | draft CPU s | times | draft MB |")
    print("|---|---|---|---|---|")
    for size, (rescore, draft) in zip(given.sizes, figures, strict=True):
        times = draft.cpu / rescore.cpu
        print(f"| {size:,} | {rescore.cpu:.2f} | {draft.cpu:.2f} | {times:.1f} | {draft.rss_mb:.0f} |")
    growth = figures[-1][1].rss_mb - figures[0][1].rss_mb
    times = figures[-1][1].cpu / figures[-1][0].cpu
    print(f"goal: at most {MOST_TIMES_A_RESCORE:.0f} times a rescore, found {times:.1f}")
    print(f"goal: memory grows by at most {MOST_GROWTH_MB:.0f} MB, found {growth:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
