"""The same expectations and the same answers through the evaluators of other tools and through Carob.

Expectations and answers are made by chance from a seed, near each other, so that about half of them hold.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import carob

JUDGES = Path(__file__).with_name("peer_judges.py")
TOOLS = ("find", "book", "pay")
VALUES: tuple[Any, ...] = ("Rome", "rome", 4, 4.5, True, None, ["a", "b"], {"deep": 1})

MESSAGES = "the same calls in other messages: agentevals compares message by message, an agent's trace has calls"
GREEDY = "agentevals gives each call the first that fits and never takes it back"
ONE_IS_TRUE = "1 and true are equal in Python, and are not in JSON"
STRIPPED = "DeepEval leaves out white space around the answer"
ONCE = "DeepEval counts two equal calls as one"
OCCURRENCE = "pydantic-evals looks at the first or last call of a tool alone, Carob at all of them"
TEXT = "the answer of an agent is a text: that it is JSON does not make it another type"
UNEXPLAINED = "not explained"

Row = dict[str, Any]


class Example(NamedTuple):
    """One expectation and one answer: what the other tool is given, a row of its file, and a recorded trace."""

    row: Row
    given: Row
    trace: Row
    kind: str


class Compared(NamedTuple):
    """An example with both verdicts."""

    example: Example
    status: str
    reason: str
    peer: bool | str

    @property
    def agrees(self) -> bool:
        return self.peer is (self.status == "PASS") and self.status in ("PASS", "FAIL")


class Peer(NamedTuple):
    """A tool: how examples for it are made, how its file is written, and why it differs from Carob where it does."""

    name: str
    make: Callable[[Random, int], Example]
    write: Callable[[Sequence[Row]], str]
    suffix: str
    explain: Callable[[Compared], str]


def compare(peer: Peer, python: str, folder: Path, count: int, seed: int = 0) -> Iterator[Compared]:
    chance = Random(seed)
    examples = [peer.make(chance, number) for number in range(count)]
    suite = folder / f"suite{peer.suffix}"
    suite.write_text(peer.write([one.row for one in examples]), encoding="utf-8")
    recording = folder / "recording.jsonl"
    recording.write_text("".join(json.dumps(one.trace) + "\n" for one in examples), encoding="utf-8")
    folder.joinpath("carob.toml").write_text(_TOML, encoding="utf-8")
    with chdir(folder):  # where carob.toml is
        verdicts = {one.case.id: one.verdict for one in carob.run(suite, f"replay:{recording}")}
    text = "".join(json.dumps(one.given) + "\n" for one in examples)
    done = subprocess.run([python, str(JUDGES), peer.name], input=text, capture_output=True, text=True, check=True)
    found = [json.loads(line[8:]) for line in done.stdout.splitlines() if line.startswith("VERDICT ")]
    for one, judged in zip(examples, found, strict=True):
        verdict = verdicts[one.trace["case_id"]]
        reason = "; ".join(str(check) for check in verdict.checks if check.status is not carob.Status.PASSED)
        yield Compared(one, verdict.status, reason or verdict.reason, judged)


_TOML = """[evaluators.expected_output]
answer_text = [{ equals = "{{expected_output}}" }]
"""


def _call(chance: Random) -> Row:
    keys = chance.sample(("city", "day", "note"), chance.randint(0, 2))
    return {"name": chance.choice(TOOLS), "arguments": {key: chance.choice(VALUES) for key in keys}}


def _near(calls: Sequence[Row], chance: Random) -> list[Row]:
    """Calls that are the same, or differ in one thing."""
    found: list[Row] = json.loads(json.dumps(calls))
    change = chance.choice(("same", "same", "same", "drop", "add", "swap", "value", "key", "twice"))
    if change == "add" or (not found and change != "same"):
        found.insert(chance.randint(0, len(found)), _call(chance))
    elif change == "drop" and found:
        found.pop(chance.randrange(len(found)))
    elif change == "swap":
        chance.shuffle(found)
    elif change == "twice" and found:
        found.append(found[0])
    elif found:
        given = chance.choice(found)["arguments"]
        if change == "value" and given:
            given[chance.choice([*given])] = chance.choice(VALUES)
        elif change == "key" and chance.random() < 0.5:
            given["more"] = chance.choice(VALUES)
        elif change == "key" and given:
            given.pop(chance.choice([*given]))
    return found


def _trace(name: str, calls: Sequence[Row], answer: str = "Done.", seconds: float = 1.0) -> Row:
    made = [{"result": "ok", **call} for call in calls]
    return {"case_id": name, "final_message": answer, "tool_calls": made, "duration_ms": seconds * 1000}


# agentevals


def _messages(calls: Sequence[Row], chance: Random) -> list[Row]:
    said: list[Row] = [{"role": "user", "content": "Go."}]
    at = 0
    while at < len(calls):
        size = chance.choice((1, 1, 2))
        part = calls[at : at + size]
        at += size
        asked = [{"function": {"name": one["name"], "arguments": json.dumps(one["arguments"])}} for one in part]
        said.append({"role": "assistant", "content": "", "tool_calls": asked})
        said += [{"role": "tool", "content": "ok"} for _ in part]
    return [*said, {"role": "assistant", "content": "Done."}]


def _trajectory(chance: Random, number: int) -> Example:
    reference = [_call(chance) for _ in range(chance.randint(0, 3))]
    made = _near(reference, chance)
    mode = chance.choice(("strict", "unordered", "subset", "superset"))
    if not reference and mode == "superset":
        mode = "unordered"
    how: Row = {
        "trajectory_match_mode": mode,
        "tool_args_match_mode": chance.choice(("exact", "ignore", "subset", "superset")),
    }
    if chance.random() < 0.3:
        how["tool_args_match_overrides"] = {"find": chance.choice(("ignore", "exact", ["city"], ["note.deep"]))}
    name = f"t{number}"
    state = chance.getstate()
    wanted = _messages(reference, chance)
    chance.setstate(state)  # the same split into messages where the calls are the same
    given = {"how": how, "reference": wanted, "outputs": _messages(made, chance)}
    return Example({"id": name, "reference_outputs": wanted, **how}, given, _trace(name, made), mode)


def _explain_trajectory(one: Compared) -> str:
    held, peer = one.status == "PASS", one.peer is True
    if one.example.kind == "strict" and held and not peer:
        return MESSAGES
    if held and not peer and "subset" in str(one.example.given["how"]) + str(one.example.kind):
        return GREEDY
    if held and not peer and "superset" in str(one.example.given["how"]):
        return GREEDY
    return UNEXPLAINED


# DeepEval


def _golden(chance: Random, number: int) -> Example:
    name = f"g{number}"
    if chance.random() < 0.4:
        expected = chance.choice(("Paris", "It is 35.", "a\nb", "Ünder"))
        answer = chance.choice(
            (expected, expected, expected.lower(), f"{expected} ", f"{expected}!", f"The {expected}")
        )
        row: Row = {"name": name, "input": "Go.", "expected_output": expected}
        given = {"golden": row, "actual": {"output": answer, "tools": []}, "metric": "exact_match"}
        return Example(row, given, _trace(name, [], answer), "exact_match")
    with_parameters = chance.random() < 0.6
    wanted = [_call(chance) for _ in range(chance.randint(1, 3))]
    made = _near(wanted, chance)
    tools = [{"name": one["name"], "input_parameters": one["arguments"]} for one in made]
    expected_tools = [
        {"name": one["name"], **({"input_parameters": one["arguments"]} if with_parameters else {})} for one in wanted
    ]
    row = {"name": name, "input": "Go.", "expected_tools": expected_tools}
    given = {"golden": row, "actual": {"output": "Done.", "tools": tools}, "metric": "tools"}
    return Example(row, given, _trace(name, made), "tools")


def _explain_golden(one: Compared) -> str:
    actual = one.example.given["actual"]
    if one.example.kind == "exact_match" and actual["output"] != actual["output"].strip():
        return STRIPPED
    made = [json.dumps(tool, sort_keys=True) for tool in actual["tools"]]
    if one.status == "PASS" and len(set(made)) < len(made):
        return ONCE
    return ONE_IS_TRUE if one.peer is True and "true" in json.dumps(one.example.given) else UNEXPLAINED


# pydantic-evals


def _dataset_case(chance: Random, number: int) -> Example:
    name = f"p{number}"
    wanted = [_call(chance) for _ in range(chance.randint(0, 3))]
    made = _near(wanted, chance)
    for call in made:
        if chance.random() < 0.1:
            call |= {"success": False, "result": "Error: no"}
    outputs: tuple[Any, ...] = ("Paris", "paris is big", "", {"city": "Paris", "n": 1}, ["a", 2], 7, True)
    expected = chance.choice(outputs)
    output = expected if chance.random() < 0.5 else chance.choice(outputs)
    if output == "":
        output = "Paris"
    names = [call["name"] for call in wanted]
    arguments = wanted[0]["arguments"] if wanted else {"city": "Rome"}
    evaluators: Row = {
        "Equals": {"value": expected or "x"},
        "EqualsExpected": None,
        "Contains": {
            "value": chance.choice(("Paris", "par", {"city": "Paris"}, {"n": 2}, 2, "city")),
            "case_sensitive": chance.random() < 0.5,
        },
        "IsInstance": {"type_name": chance.choice(("str", "dict", "list", "int"))},
        "MaxDuration": {"seconds": chance.choice((0.5, 1.0, 2.0))},
        "ToolCorrectness": {"expected_tools": names or ["find"], "allow_extra": chance.random() < 0.5},
        "TrajectoryMatch": {"expected_trajectory": names, "order": chance.choice(("exact", "in_order", "any_order"))},
        "ArgumentCorrectness": {
            "tool_name": names[0] if names else "find",
            "expected_arguments": arguments,
            "match_mode": chance.choice(("exact", "subset")),
        },
        "MaxToolCalls": {"max_calls": chance.randint(0, 3)},
    }
    kind = chance.choice([*evaluators])
    spec: Any = kind if evaluators[kind] is None else {kind: evaluators[kind]}
    case = {"name": name, "inputs": "Go.", "expected_output": expected or "x", "evaluators": [spec]}
    seconds = chance.choice((0.4, 1.0, 1.5))
    answer = output if isinstance(output, str) else json.dumps(output)
    given = {"case": case, "output": output, "seconds": seconds, "calls": made}
    return Example(case, given, _trace(name, made, answer, seconds), kind)


def _explain_case(one: Compared) -> str:
    kind = one.example.kind
    if kind == "ArgumentCorrectness" and one.status == "PASS":
        return OCCURRENCE
    if kind in ("Contains", "IsInstance") and not (kind == "Contains" and isinstance(one.example.given["output"], str)):
        return TEXT
    return ONE_IS_TRUE if one.peer is True and "rue" in json.dumps(one.example.given) else UNEXPLAINED


PEERS = (
    Peer("agentevals", _trajectory, lambda rows: json.dumps([*rows]), ".json", _explain_trajectory),
    Peer("deepeval", _golden, lambda rows: json.dumps([*rows]), ".json", _explain_golden),
    Peer("pydantic", _dataset_case, lambda rows: json.dumps({"name": "d", "cases": [*rows]}), ".json", _explain_case),
)
