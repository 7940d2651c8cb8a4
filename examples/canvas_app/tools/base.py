"""What a tool is and what it answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from canvas_app.records import Option, Pending
from canvas_app.store.workspace import Workspace

Arguments = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """`success: false` with `pending` asks for a field; with `code` it says why the tool could not do it."""

    success: bool
    message: str
    data: Mapping[str, object] = field(default_factory=dict)
    code: str | None = None
    pending: Pending | None = None

    def as_json(self) -> dict[str, object]:
        told: dict[str, object] = {"success": self.success, "message": self.message, **self.data}
        if self.code is not None:
            told["error"] = self.code
        if self.pending is not None:
            told["missingFields"] = [self.pending.field]
            told["options"] = [option.label for option in self.pending.options]
        return told


@dataclass(frozen=True, slots=True)
class Tool:
    """`parameters` maps each argument to its JSON Schema."""

    name: str
    description: str
    parameters: Mapping[str, Mapping[str, object]]
    run: Callable[[Workspace, Arguments], ToolResult]


def done(message: str, **data: object) -> ToolResult:
    return ToolResult(True, message, data)


def refused(code: str, message: str, **data: object) -> ToolResult:
    return ToolResult(False, message, data, code=code)


def lacking(tool: str, arguments: Arguments, field: str, question: str, options: tuple[Option, ...] = ()) -> ToolResult:
    """The tool cannot run until `field` is given; the page asks for it with a picker, or a text box without options."""
    return ToolResult(False, question, pending=Pending(tool, dict(arguments), field, question, options))


def text_parameter(description: str, choices: tuple[str, ...] = ()) -> dict[str, object]:
    schema: dict[str, object] = {"type": "string", "description": description}
    return schema | {"enum": list(choices)} if choices else schema
