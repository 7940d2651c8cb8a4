"""The shape of every tool's answer: `success`, `message`, and what else the tool found."""

from collections.abc import Sequence
from typing import Any

Result = dict[str, Any]

_FIELD_WORDS = {"vehicle_id": "a vehicle id or VIN", "test_type": "a test type", "start_date": "a start date"}
_MAX_SHOWN = 40


def succeeded(message: str, **found: Any) -> Result:
    return {"success": True, "message": message, **found}


def failed(message: str, **details: Any) -> Result:
    return {"success": False, "message": message, **details}


def missing(fields: Sequence[str]) -> Result:
    """The request lacks these arguments."""
    words = " and ".join(_FIELD_WORDS.get(field, field) for field in fields)
    return failed(f"Missing information: please give {words}.", missing_fields=list(fields))


class InputProblem(Exception):
    """Arguments that no tool can work with; carries the result that says so."""

    def __init__(self, result: Result) -> None:
        super().__init__(result["message"])
        self.result = result


def shown(value: object) -> str:
    """A caller's own words inside a message: one line, bounded."""
    words = " ".join(str(value).split())
    return words if len(words) <= _MAX_SHOWN else words[:_MAX_SHOWN] + "…"


def with_article(noun: str) -> str:
    """`a brake test`, `an emissions test`."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def counted(number: int, noun: str) -> str:
    """`1 dyno`, `2 dynos`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
