"""`promptfoo eval -o results.json`: the answers of a run by the prompt that was sent."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from karat.importers.promptfoo.suite import user_messages
from karat.targets.recordings.result_files import RecordedCase, ResultFile

AMBIGUOUS = (
    "{} tests, prompts or providers of the results have the last words of this case, so it is unknown which answer is "
    "its own: run promptfoo with one of them (--filter-pattern, --filter-providers), and replay that"
)


class PromptfooResults(ResultFile):
    def recognizes(self, first: object) -> bool:
        results = first.get("results") if isinstance(first, dict) else None
        return isinstance(results, dict) and isinstance(results.get("results"), list)

    def read(self, values: Sequence[Any]) -> Iterator[RecordedCase]:
        repeats: Counter[str] = Counter()
        rows = [(_last_words(row), row) for row in values[0]["results"]["results"]]
        sources: dict[str, set[str]] = {}
        for words, row in rows:
            sources.setdefault(words, set()).add(_source(row))
        for words, row in rows:
            ambiguous = AMBIGUOUS.format(len(sources[words])) if len(sources[words]) > 1 else ""
            yield RecordedCase(words, _form(row), repeats[words], by_prompt=True, ambiguous=ambiguous)
            repeats[words] += 1


def _last_words(row: dict[str, Any]) -> str:
    prompt = row.get("prompt") or {}
    raw = prompt.get("raw", "") if isinstance(prompt, dict) else str(prompt)
    return (user_messages(raw) or [raw])[-1]


def _source(row: dict[str, Any]) -> str:
    """The test, the prompt and the provider that a row is of: rows that differ in it do not repeat each other."""
    provider = row.get("provider")
    named = provider.get("id") if isinstance(provider, dict) else provider
    prompt = row.get("prompt")
    raw = prompt.get("raw") if isinstance(prompt, dict) else prompt
    return json.dumps([row.get("testIdx"), row.get("promptIdx"), named, raw], sort_keys=True)


def _form(row: dict[str, Any]) -> dict[str, Any]:
    response = row.get("response") or {}
    output = response.get("output", row.get("output"))
    if output is None:
        return {"error": str(row.get("error") or response.get("error") or "the run contains no answer")}
    calls = tool_calls(output)
    form: dict[str, Any] = {"final_message": output if isinstance(output, str) else json.dumps(output)}
    form |= {"tool_calls": calls} if calls is not None else {}
    form |= {"duration_ms": row["latencyMs"]} if isinstance(row.get("latencyMs"), int | float) else {}
    used = response.get("tokenUsage") or {}
    if isinstance(used.get("prompt"), int) or isinstance(used.get("completion"), int):
        form["tokens"] = {"input": used.get("prompt"), "output": used.get("completion")}
    cost = response.get("cost", row.get("cost"))
    form |= {"metadata": {"cost_usd": cost}} if isinstance(cost, int | float) else {}
    reason = response.get("finishReason")
    return {**form, **({"ended_by": "itself" if reason == "stop" else reason} if isinstance(reason, str) else {})}


def tool_calls(output: Any) -> list[dict[str, Any]] | None:
    """The calls that an answer asks for, as OpenAI writes them; None if it is words."""
    listed = output.get("tool_calls") if isinstance(output, dict) else output
    if not isinstance(listed, list) or not listed:
        return None
    calls = []
    for call in listed:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            return None
        calls.append({"name": function["name"], "arguments": _arguments(function.get("arguments"))})
    return calls


def _arguments(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments
