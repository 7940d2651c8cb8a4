"""From traces to a draft."""

from __future__ import annotations

from collections.abc import Iterable

from karat.checks.catalog import CheckCatalog
from karat.drafts.draft import Draft, DraftOptions, DraftSummary
from karat.errors import UsageError
from karat.model.trace import Trace
from karat.suites.documents.yaml_text import block

NO_TRACES = "there is no trace to draft from."


def draft_from_traces(traces: Iterable[Trace], catalog: CheckCatalog, options: DraftOptions = DraftOptions()) -> Draft:
    """Draft a suite. The traces are read twice, one after the other, so that they need not fit into memory.

    Raises UsageError if there is nothing to draft from.
    """
    cases, seen = {}, 0
    for trace in traces:
        seen += 1
        if trace.error is None and trace.input not in cases:
            called = [call.name for call in trace.tool_calls if call.called]
            expected = {"outcome": "tool_success", "tool_calls_any": called} if called else {"outcome": "completed"}
            cases[trace.input] = {"id": f"case-{len(cases) + 1}", "prompt": trace.input, "expected": expected}
    if not cases:
        raise UsageError(NO_TRACES, fix="Name a journal, a recording or an export of spans.", slug="no-traces")
    top = {"karat": 1, "name": options.name or "Draft", "cases": [*cases.values()]}
    return Draft("\n".join([*block(top), ""]), (), DraftSummary(traces=seen, cases=len(cases), covered=seen))
