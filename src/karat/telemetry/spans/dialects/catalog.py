"""The dialects, the narrowest first: a span is read by the first that it speaks."""

from karat.telemetry.spans.dialect import SpanDialect
from karat.telemetry.spans.dialects.genai import GENAI
from karat.telemetry.spans.dialects.openinference import OPENINFERENCE
from karat.telemetry.spans.dialects.strands import STRANDS
from karat.telemetry.spans.dialects.traceloop import TRACELOOP
from karat.telemetry.spans.record import SpanRecord

DIALECTS: tuple[SpanDialect, ...] = (OPENINFERENCE, TRACELOOP, STRANDS, GENAI)


def dialect_of(span: SpanRecord) -> SpanDialect | None:
    return next((dialect for dialect in DIALECTS if dialect.speaks(span)), None)
