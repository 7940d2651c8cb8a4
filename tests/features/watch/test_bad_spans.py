"""One bad span makes its conversation unknown: every other one of its request is judged."""

from __future__ import annotations

import json

from evidence.spans.span_factory import post
from features.watch.conftest import Start
from laws.test_bad_rows import SPANS, in_protobuf, span


def test_bad_spans_of_a_request(start: Start) -> None:
    watch = start()
    spans = [json.dumps(span(number)).encode() for number in range(40)]
    spans[3], spans[11] = SPANS[0](spans[3]), SPANS[1](spans[11])
    body = b'{"resourceSpans": [{"scopeSpans": [{"spans": [%s]}]}]}' % b",".join(spans)
    assert post(watch.url, body, Content_Type="application/json") == 200
    assert post(watch.url, in_protobuf(*range(50, 90), bad=53, late=61)) == 200
    watch.wait(120)
    assert watch.figure("carob_watch_conversations_judged_total") == 80
    assert watch.figure("carob_watch_conversations_dropped_total") == 4
