"""The shapes of suite files, as pydantic models made from the fields that the checks declare."""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, reduce
from operator import or_
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from msgspec import Meta
from pydantic import ConfigDict, TypeAdapter, with_config
from pydantic import Field as Declared
from typing_extensions import TypedDict  # pydantic reads that of `typing` from Python 3.12 on only

from karat.model.check import Field
from karat.model.verdict import Group

VERSIONS = ("0.1", "0.2", "0.3")
GOLDEN_VERSION = "1.0"

EVAL_SET = "eval-set"
GOLDEN_EXPECTED = "golden-expected"
GOLDEN_CASE = "golden-case"

CONTROL = r"\u0000-\u001f\u007f-\u009f\u2028\u2029"
LABEL_PATTERN = rf"^[^{CONTROL}]*[^\s{CONTROL}][^{CONTROL}]*$"
TEXT_PATTERN = r"\S"

LARGEST_WEIGHT = 1e6

Label = Annotated[str, Declared(pattern=LABEL_PATTERN)]
Text = Annotated[str, Declared(pattern=TEXT_PATTERN)]
Versions = Literal["0.1", "0.2", "0.3"]

_RATE = (
    Annotated[float, Declared(gt=0, le=1)],
    "The share of repeats that must pass, over 0 and at most 1; all by default.",
)

# An object with no other keys than these; `metadata` and `x-` keys are set aside before it is judged.
CLOSED = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

_LIMITS = ("gt", "ge", "lt", "le", "multiple_of", "pattern", "min_length", "max_length")

# The keys are known only when the checks are, which a type checker cannot follow.
_TypedDict: Any = TypedDict


@with_config(CLOSED)
class SoftScore(TypedDict):
    """A weighted sum of group scores, and the least that it may be."""

    threshold: NotRequired[
        Annotated[float, Declared(ge=0, le=1, description="A soft score under this fails the case.")]
    ]
    weights: NotRequired[
        Annotated[
            dict[Group, Annotated[float, Declared(ge=0, le=LARGEST_WEIGHT)]],
            Declared(description="How much each group counts. At least one must be over zero."),
        ]
    ]


@with_config(CLOSED)
class ScoringModel(TypedDict):
    """How group scores become a status."""

    hard_fail: NotRequired[
        Annotated[list[Group], Declared(description="Groups in which one failed check fails the case.")]
    ]
    soft_score: NotRequired[Annotated[SoftScore, Declared(description="The weighted score and its threshold.")]]


class Shape:
    """A format: one case, what stands around the cases (whatever they are), and all of it, which few need."""

    def __init__(self, case: Any, around: Callable[[Any], Any]) -> None:
        self.case: TypeAdapter[Any] = TypeAdapter(case)
        self.head: TypeAdapter[Any] = TypeAdapter(around(Any))
        self._parts = case, around

    @cached_property
    def whole(self) -> TypeAdapter[Any]:
        case, around = self._parts
        return TypeAdapter(around(case))


def eval_set(fields: Iterable[Field]) -> Shape:
    """Eval sets 0.1 to 0.3."""
    return _eval_set(tuple(fields))


def golden(fields: Iterable[Field]) -> Shape:
    """Golden decisions and QA 1.0."""
    return _golden(tuple(fields))


@lru_cache(maxsize=8)
def _eval_set(fields: tuple[Field, ...]) -> Shape:
    scoring = (ScoringModel, "How group scores become a status.")
    expected = _model(
        "Expected",
        "What is expected of the answer.",
        _asked(fields, EVAL_SET)
        | {
            "scoring": scoring,
            "min_pass_rate": _RATE,
        },
    )
    case = _model(
        "Case",
        "One prompt and what is expected of the answer.",
        {
            "id": (Label, "A name that no other case of the suite has."),
            "category": (Label, "What kind of case it is, to select by."),
            "setup_prompts": (list[Text], "Prompts sent first in the same conversation, not judged."),
            "preconditions": (list[str], "What must hold before the case, for people to read."),
            "prompt": (Text, "What the agent is asked."),
            "expected": (expected, "What is expected of the answer."),
            "scoring": scoring,
        },
        required=("id", "prompt", "expected"),
    )

    def suite(cases: Any) -> Any:
        keys = {
            "$schema": (str, "The JSON Schema that editors check this file with."),
            "name": (str, "The name of the suite."),
            "version": (Versions, "The version of the format."),
            "description": (str, "What the suite is for."),
            "captured_at": (Any, "When the expectations were written down."),
            "integration_baseline": (Any, "What the suite was written against."),
            "cases": (_some(cases), "The cases."),
        }
        about = "A Karat eval set: prompts, and what is expected of the answers."
        return _model("EvalSet", about, keys, required=("cases",))

    return Shape(case, suite)


@lru_cache(maxsize=8)
def _golden(fields: tuple[Field, ...]) -> Shape:
    beside = _asked(fields, GOLDEN_CASE)
    asked = _asked(fields, GOLDEN_EXPECTED) | {"min_pass_rate": _RATE}
    inside: Any = _model("Expected", "What is expected of a decision.", asked)
    if "expected_contains" in beside:
        inside = inside | beside["expected_contains"][0]
    case = _model(
        "Case",
        "One input and what is expected of the answer.",
        {
            "id": (Label, "A name that no other case of the set has."),
            "category": (Label, "What kind of case it is, to select by."),
            "input": (Text, "What the agent is asked."),
            "expected": (inside, "What is expected of a decision, or the phrases that a QA answer contains."),
            "constraints": (Any, "What the decision had to respect; documentation, not checked."),
            **beside,
        },
        required=("id", "input"),
    )
    return Shape(case, _some)


def _asked(fields: Sequence[Field], spelling: str) -> dict[str, tuple[Any, str]]:
    return {f.name: (closed(f.type), f.doc) for f in fields if spelling in f.formats}


def _some(kind: Any) -> Any:
    return Annotated[types.GenericAlias(list, kind), Declared(min_length=1)]


def _model(name: str, doc: str, keys: Mapping[str, tuple[Any, str]], required: Collection[str] = ()) -> Any:
    described = {key: Annotated[kind, Declared(title=key, description=about)] for key, (kind, about) in keys.items()}
    return _closed(name, doc, {key: kind if key in required else NotRequired[kind] for key, kind in described.items()})


def _closed(name: str, doc: str | None, keys: Mapping[str, Any]) -> Any:
    made = _TypedDict(name, dict(keys))
    made.__doc__ = doc
    return with_config(CLOSED)(made)


def closed(kind: Any) -> Any:
    """A type with every TypedDict in it made a closed object, and its limits said in pydantic's words.

    pydantic reads `typing.TypedDict` from Python 3.12 on only, and would let unknown keys through.
    """
    if is_typeddict(kind):
        return _closed(kind.__name__, kind.__doc__, dict(_keys(kind)))
    origin, inner = get_origin(kind), get_args(kind)
    if origin is None or origin is Literal:
        return kind
    if origin is Annotated:
        return Annotated[(closed(inner[0]), *map(_limit, inner[1:]))]
    mended = tuple(closed(part) for part in inner)
    if mended == inner:
        return kind
    return reduce(or_, mended) if origin in (Union, types.UnionType) else origin[mended]


def _limit(mark: Any) -> Any:
    """A mark of an annotated type; those of msgspec are what the checks, which must not wait for pydantic, have."""
    if not isinstance(mark, Meta):
        return mark
    return Declared(**{name: limit for name in _LIMITS if (limit := getattr(mark, name)) is not None})


def _keys(kind: Any) -> Iterator[tuple[str, Any]]:
    for key, hint in get_type_hints(kind, include_extras=True).items():
        marked = get_origin(hint) in (Required, NotRequired)
        wanted = get_origin(hint) is Required if marked else kind.__total__
        bare = closed(get_args(hint)[0] if marked else hint)
        yield key, bare if wanted else NotRequired[bare]
