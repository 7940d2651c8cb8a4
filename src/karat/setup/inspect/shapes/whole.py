"""What an answer that comes as one JSON value means: where its words are, and its tool calls."""

from __future__ import annotations

from collections.abc import Sequence

from karat.setup.inspect.shapes.calls import CallShape, CallShapes, find_calls, with_usual_errors
from karat.setup.inspect.shapes.items import MOST_EVENTS, EventItem, Labels, as_filter, keep_common_paths, objects_in
from karat.setup.inspect.shapes.stream import Draft
from karat.suites.diagnostics import Json
from karat.targets.http.guess import answer_path, conversation_path
from karat.targets.http.jsonpath import JsonPath
from karat.text.tool_results import shows_failure

MOST_LISTS = 20


def draft_whole(answers: Sequence[Json]) -> Draft:
    """The mapping of answers that come as a whole; what is not clear is left out, and said."""
    draft = Draft()
    refusals = [one for one in answers if isinstance(one, dict) and not answer_path(one) and shows_failure(one)]
    path = next(filter(None, map(answer_path, answers)), "")
    named = conversation_path(answers[0])
    calls, unclear = _find_tool_calls(answers)
    draft.options = {"answer": path} if path else {}
    draft.options |= {"tool_calls": calls} if calls else {}
    draft.options |= {"conversation": {"id": named}} if named else {}
    errors = next((key for one in refusals for key in ("error", "errors", "detail") if one.get(key)), "")
    draft.options |= {"failure": {"at": f"$.{errors}"}} if errors else {}
    draft.unclear += [unclear] if unclear and not calls else []
    return draft


def _find_tool_calls(answers: Sequence[Json]) -> tuple[dict[str, object], str]:
    """The first list, from the outside in, whose members are or have calls; and why one is not clear."""
    paths = dict.fromkeys(path for value in answers for path, _ in objects_in(value) if path.endswith("[*]"))
    unclear = ""
    for path in list(paths)[:MOST_LISTS]:
        found = JsonPath(path).all
        members = [(number, member) for number, value in enumerate(answers) for member in found(value)]
        items = [EventItem("", member, number, order) for order, (number, member) in enumerate(members[:MOST_EVENTS])]
        keep_common_paths(items)
        labels = Labels(items)
        calls = find_calls(items, labels)
        if calls.start is not None:
            return _table(path, calls.start, calls, labels), ""
        unclear = unclear or calls.unclear
    return {}, f"{unclear}: set `tool_calls`" if unclear else ""


def _table(path: str, start: CallShape, calls: CallShapes, labels: Labels) -> dict[str, object]:
    """`tool_calls`, with `results` where they are apart from their calls."""
    fields = start.fields if calls.end is not None or "result" not in start.fields else with_usual_errors(start.fields)
    table: dict[str, object] = {"at": _at(path, start, labels), **fields}
    end = calls.end
    if end is not None and "id" in end.fields:
        read = with_usual_errors({name: end.fields[name] for name in ("id", "result", "error") if name in end.fields})
        table["results"] = {"at": _at(path, end, labels), **read}
    return table


def _at(path: str, shape: CallShape, labels: Labels) -> str:
    """Where in an answer the objects of a shape are: all members of the list, or those that its labels choose."""
    chosen = as_filter(labels.when(shape.items)) if shape.at == "$" else ""
    return f"{path.removesuffix('[*]')}[{chosen or '*'}]{shape.at[1:]}"
