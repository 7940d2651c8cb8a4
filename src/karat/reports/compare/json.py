"""A comparison as JSON: the records themselves, with the words of the others."""

from __future__ import annotations

import msgspec

from karat.model.comparison import Comparison
from karat.reports.compare.words import headline


def comparison_json(found: Comparison) -> bytes:
    """Everything that was found; what is not finite is null."""
    told = {
        "headline": headline(found),
        "verdict": found.overall.sure or "not sure",
        "exit_code": int(found.exit_code),
        **{name: getattr(found, name) for name in found.__struct_fields__},
    }
    return msgspec.json.format(msgspec.json.encode(told), indent=1) + b"\n"
