"""What an author says of the calls of tools: what each tool is called, and which of its results are a success.

A target says it of its agent, and a file of rules of the conversations that it judges, which have no target.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct, field

from carob.text.regexes import safe_regex
from carob.text.tool_names import find_spellings, is_named
from carob.text.tool_results import parse_result


class SuccessRule(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A call succeeded if `field` of its result (`booking.state`) is one of `is`, or if `text` is found in it.

    It failed if `failure_text` is found in it, whatever else holds; alone, that is the rule.
    """

    path: str = field(default="", name="field")
    values: Annotated[list[object], Meta(min_length=1)] | None = field(default=None, name="is")
    text: str = ""
    failure_text: str = ""

    def flaw(self) -> str:
        """What is wrong with it, or nothing."""
        alone = self.failure_text and not (self.path or self.text) and self.values is None
        if not alone and (bool(self.path) is bool(self.text) or (self.values is None) is bool(self.path)):
            return "give either `field` with `is`, or `text`; `failure_text` next to it, or alone."
        for name, pattern in (("text", self.text), ("failure_text", self.failure_text)):
            try:
                if pattern and safe_regex.matches_empty(pattern):
                    return f"`{name}` matches every result."
            except safe_regex.BadPattern as error:
                return f"`{name}` is not a regex: {error}."
        return ""

    def holds(self, result: object) -> bool | None:
        """Whether a call with this result succeeded; None if the result does not tell."""
        if result is None:
            return None
        text = result if isinstance(result, str) else msgspec.json.encode(result).decode()
        if self.failure_text and safe_regex.search(self.failure_text, text) is not None:
            return False
        if self.text:
            return safe_regex.search(self.text, text) is not None
        if not self.path:
            return True
        value: object = parse_result(result)
        for part in self.path.split("."):
            if not isinstance(value, Mapping) or part not in value:
                return None
            value = value[part]
        return any(type(value) is type(success) and value == success for success in self.values or ())


class ToolReading(Struct, frozen=True, omit_defaults=True):
    """How calls are read."""

    success: dict[str, SuccessRule] = {}
    tool_names: dict[str, str] = {}
    """What tools are called here, by the names that were seen."""
    plain_text: Literal["", "success"] = ""
    """Whether a result of plain text, which may be the words of an error, is vouched for as a success."""

    def __bool__(self) -> bool:
        return bool(self.success or self.tool_names or self.plain_text)

    def rename(self, tool: str) -> str:
        """What a tool is called here."""
        spelling = self._mapped_spelling(tool)
        return tool if spelling is None else self.tool_names[spelling]

    def maps(self, tool: str) -> bool:
        """Whether `tool_names` has a line for a tool, be it one that keeps its name."""
        return self._mapped_spelling(tool) is not None

    def _mapped_spelling(self, tool: str) -> str | None:
        names = self.tool_names
        return next((spelling for spelling in find_spellings(tool) if spelling in names), None) if names else None

    def judge_success(self, tool: str, success: bool | None, result: object) -> bool | None:
        """Whether a call that ended without an error succeeded; `success`: what is known without the author.

        The rule with the longest name that is the tool's decides; what it does not tell leaves a sign of failure one.
        """
        if success is None and self.plain_text and isinstance(result, str):
            success = True
        names = [name for name in self.success if is_named(name, tool)]
        if not names:
            return success
        holds = self.success[max(names, key=len)].holds(result)
        return False if holds is None and success is False else holds
