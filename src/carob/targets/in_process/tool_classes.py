"""The classes by which frameworks call tools: where each is, which of its methods run a tool, and what they are given.

One row per class. `wrapping.py` wraps the methods once the module of the class is loaded; nothing is done for a class
that is not there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, cast

from carob.targets.in_process import result_forms
from carob.targets.in_process.cases import RunningCase

OWNER = "_carob_owner"
"""Where a tool that was handed over keeps how to find the run or the guard that its calls are of."""
FindOwner = Callable[[RunningCase | None], RunningCase]


def find_owner(tool: Any) -> FindOwner | None:
    """How to find what the calls of a tool are of, if it was handed over, or what was is held by it."""
    for holder in (tool, *(getattr(tool, name, None) for name in ("_function_tool", "_original_tool"))):
        if (find := getattr(holder, "__dict__", {}).get(OWNER)) is not None:
            return cast(FindOwner, find)
    return None


def _own_name(tool: Any) -> Iterable[str]:
    return (str(getattr(tool, "name", "")),)


class Approval(NamedTuple):
    """What a framework knows of the approval of a call by a person, and how it asks for one."""

    is_given: bool
    ask: Callable[[str], object] | None = None
    """Raises what makes the framework ask a person, with these words; None: it asks before, or not at all."""


class Called(NamedTuple):
    """What a call is: its tool, its arguments and its id."""

    name: str
    arguments: object
    call_id: str | None = None
    plugin: str = ""
    """What the framework puts before the name, as a part of it."""
    approval: Approval | None = None
    """None: the framework has no approvals."""
    judged: object = None
    """The arguments with those that the tool takes by default, if they differ."""
    tool: object = None
    """What was handed over, where another object makes the call."""


Reader = Callable[[Any, tuple[Any, ...], Mapping[str, Any]], Called]
"""Reads a call from the tool, or what calls it, and from what the method was called with."""


class ToolClass(NamedTuple):
    """One class of tools."""

    module: str
    name: str
    methods: tuple[str, ...]
    """What runs a tool: each time it is entered, that is a call."""
    read: Reader
    inner: tuple[str, ...] = ()
    """What `methods` end in once the arguments were looked at: there a call has begun, and faults change the result."""
    read_inner: Reader | None = None
    in_subclasses: bool = False
    """Whether subclasses have methods of their named instead of those of the class."""
    validators: frozenset[str] = frozenset()
    """Functions that look at the arguments first: what they raise never came to the tool itself."""
    form: type[result_forms.PlainForm] = result_forms.PlainForm
    attribute: bool = False
    """Whether the method is a value that each object has for itself."""
    hands_on: Callable[[Any], bool] = lambda tool: False
    """Whether it only hands calls on to another that is in this table."""
    names: Callable[[Any], Iterable[str]] | None = None
    """The names of the tools that an object is or holds; None if that cannot be known."""
    owned: str = ""
    """The part of a tool that calls are made by, where it is not the tool itself."""


def _keywords(tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {**kwargs, **({"": list(args)} if args else {})}


_HIDDEN = frozenset({"config", "run_manager", "callbacks"})
"""What LangChain adds to the arguments of a call."""


def _read_langchain(tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Called:
    arguments = args[0] if args else kwargs.get("tool_input", {})
    return Called(tool.name, arguments, kwargs.get("tool_call_id"))


def _read_langchain_inner(tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Called:
    named = {name: value for name, value in kwargs.items() if name not in _HIDDEN}
    return Called(tool.name, _keywords(tool, args, named))


def json_arguments(value: object) -> object:
    """Arguments as they are, or as JSON in a text has them."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _read_openai(tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Called:
    context, arguments = [*args, *(kwargs.get(key) for key in ("ctx", "input")[len(args) :])][:2]
    call_id = getattr(context, "tool_call_id", None)
    read_approval = getattr(context, "is_tool_approved", None)
    is_approved = read_approval is not None and bool(call_id) and read_approval(tool.name, call_id) is True
    return Called(tool.name, json_arguments(arguments or "{}"), call_id, approval=Approval(is_approved))


def _read_openai_invoker(invoker: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Called:
    return _read_openai(invoker._function_tool, args, kwargs)


def _is_built_by_decorator(tool: Any) -> bool:
    return hasattr(vars(tool).get("on_invoke_tool"), "_invoke_tool_impl")


def _read_pydantic_ai(toolset: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Called:
    keys = ("name", "tool_args", "ctx", "tool")
    name, arguments, context, tool = [*args, *(kwargs.get(key) for key in keys[len(args) :])][:4]
    approval = Approval(getattr(context, "tool_call_approved", False) is True, _defer_in_pydantic_ai)
    call_id = getattr(context, "tool_call_id", None)
    schema = getattr(getattr(tool, "call_func", None), "__self__", None)
    return Called(getattr(context, "tool_name", None) or name, arguments, call_id, approval=approval, tool=schema)


def _defer_in_pydantic_ai(why: str) -> object:
    from pydantic_ai.exceptions import ApprovalRequired  # type: ignore[import-not-found, unused-ignore]

    raise ApprovalRequired(metadata={"reason": why})


def _is_no_leaf(toolset: Any) -> bool:
    """Whether a toolset holds others, or only the tools by which a model hands over its answer."""
    return hasattr(toolset, "wrapped") or hasattr(toolset, "toolsets") or type(toolset).__name__ == "OutputToolset"


SECURITY = "security_context"
"""What older releases of CrewAI add to the arguments of a call."""


def _read_crewai(tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Called:
    from re import sub

    own = getattr(getattr(tool, "args_schema", None), "model_fields", ())
    named = {key: value for key, value in kwargs.items() if key != SECURITY or key in own}
    return Called(sub(r"\W+", "_", str(tool.name)).strip("_").lower(), _keywords(tool, args, named))


def _read_crewai_structured(tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Called:
    arguments = args[0] if args else kwargs.get("input", {})
    return _read_crewai(tool, (), arguments if isinstance(arguments, dict) else {"": [json_arguments(arguments)]})


def _read_llamaindex(tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Called:
    hidden = getattr(tool, "ctx_param_name", None)
    named = {key: value for key, value in kwargs.items() if key != hidden}
    return Called(tool.metadata.get_name(), _keywords(tool, args, named))


def _read_agno(call: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Called:
    return Called(call.function.name, call.arguments or {}, call.call_id)


def _read_autogen(tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Called:
    arguments = args[0] if args else kwargs.get("args", {})
    return Called(tool.name, dict(arguments), kwargs.get("call_id"))


def _read_strands(tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Called:
    use = args[0] if args else kwargs.get("tool_use", kwargs.get("tool", {}))
    return Called(use.get("name", tool.tool_name), use.get("input", {}), use.get("toolUseId"))


def _read_smolagents(tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Called:
    named = {key: value for key, value in kwargs.items() if key != "sanitize_inputs_outputs"}
    if len(args) == 1 and not named and isinstance(args[0], dict) and args[0].keys() <= set(tool.inputs):
        return Called(tool.name, args[0])
    return Called(tool.name, {**dict(zip(tool.inputs, args, strict=False)), **named})


def _read_adk(tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Called:
    context = kwargs.get("tool_context")
    return Called(tool.name, kwargs.get("args", {}), getattr(context, "function_call_id", None))


def _read_plain(tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Called:
    return Called(tool.name, _keywords(tool, args, kwargs))


def _read_semantic_kernel(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Called:
    plugin = f"{function.plugin_name}-" if function.plugin_name else ""
    return Called(f"{plugin}{function.name}", dict(args[0].arguments), None, plugin)


def _read_mcp(session: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Called:
    name, arguments = [*args, *(kwargs.get(key) for key in ("name", "arguments")[len(args) :])][:2]
    return Called(str(name), arguments or {})


LANGCHAIN = ToolClass(
    "langchain_core.tools.base", "BaseTool", ("run", "arun"), _read_langchain, ("_run", "_arun"), _read_langchain_inner,
    in_subclasses=True, form=result_forms.LangChainResult, names=_own_name,
)  # fmt: skip
TOOL_CLASSES = (
    LANGCHAIN,
    ToolClass(
        "agents.tool", "FunctionTool", ("on_invoke_tool",), _read_openai,
        attribute=True, hands_on=_is_built_by_decorator, names=_own_name, form=result_forms.TextForRefusal,
    ),
    ToolClass(
        "agents.tool", "_FailureHandlingFunctionToolInvoker", ("_invoke_tool_impl",), _read_openai_invoker,
        attribute=True, validators=frozenset({"_prepare_arguments"}), form=result_forms.TextForRefusal,
    ),
    ToolClass(
        "pydantic_ai.toolsets.abstract", "AbstractToolset", ("call_tool",), _read_pydantic_ai,
        in_subclasses=True, hands_on=_is_no_leaf, form=result_forms.TextForRefusal,
    ),
    ToolClass("pydantic_ai.tools", "Tool", (), _read_plain, names=_own_name, owned="function_schema"),
    ToolClass(
        "crewai.tools.structured_tool", "CrewStructuredTool", ("invoke", "ainvoke"), _read_crewai_structured,
        validators=frozenset({"_parse_args"}), names=_own_name,
    ),
    ToolClass(
        "crewai.tools.base_tool", "BaseTool", ("run", "arun"), _read_crewai,
        in_subclasses=True, validators=frozenset({"_validate_kwargs"}), names=_own_name,
    ),
    ToolClass(
        "llama_index.core.tools.types", "BaseTool", ("call", "acall"), _read_llamaindex,
        in_subclasses=True, form=result_forms.ToolOutput, names=lambda tool: (tool.metadata.get_name(),),
    ),
    ToolClass(
        "agno.tools.function", "FunctionCall", ("execute", "aexecute"), _read_agno, form=result_forms.ResultObject,
    ),
    ToolClass(
        "autogen_core.tools._base", "BaseTool", ("run_json",), _read_autogen,
        in_subclasses=True, validators=frozenset({"model_validate"}), names=_own_name,
    ),
    ToolClass(
        "strands.types.tools", "AgentTool", ("stream", "invoke"), _read_strands, in_subclasses=True,
        form=result_forms.ToolUseResult, names=lambda tool: (tool.tool_name,),
    ),
    ToolClass(
        "smolagents.tools", "Tool", ("__call__",), _read_smolagents, in_subclasses=True, names=_own_name,
    ),
    ToolClass(
        "google.adk.tools.base_tool", "BaseTool", ("run_async",), _read_adk,
        in_subclasses=True, names=_own_name,
    ),
    ToolClass(
        "haystack.tools.tool", "Tool", ("invoke", "invoke_async"), _read_plain,
        in_subclasses=True, names=_own_name,
    ),
    ToolClass(
        "dspy.adapters.types.tool", "Tool", ("__call__", "acall"), _read_plain,
        validators=frozenset({"_validate_and_parse_args"}), names=_own_name,
    ),
    ToolClass(
        "semantic_kernel.functions.kernel_function_from_method", "KernelFunctionFromMethod", ("_invoke_internal",),
        _read_semantic_kernel, validators=frozenset({"gather_function_parameters"}), form=result_forms.ContextResult,
        names=_own_name,
    ),
    ToolClass(
        "agent_framework._tools", "FunctionTool", ("__call__",), _read_plain, names=_own_name,
    ),
    ToolClass("mcp.client.session", "ClientSession", ("call_tool",), _read_mcp, form=result_forms.McpResult),
    # It sends a call again with what the server asked for: that is one call.
    ToolClass("mcp.client.client", "Client", ("call_tool",), _read_mcp, form=result_forms.McpResult),
)  # fmt: skip
