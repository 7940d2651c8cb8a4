"""All formats of exports; each is known by its tells."""

from __future__ import annotations

from karat.evidence.exports.base import ExportFormat
from karat.evidence.exports.messages import ANTHROPIC, OPENAI_CHAT
from karat.evidence.exports.otlp import OTLP

FORMATS: tuple[ExportFormat, ...] = (OTLP, OPENAI_CHAT, ANTHROPIC)
