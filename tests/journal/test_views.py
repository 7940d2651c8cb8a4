"""Every view of a journal line says of its fields what the full struct says: name, type, and what a missing one is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
import pytest
from msgspec import NODEFAULT, Raw, Struct, structs
from msgspec.structs import FieldInfo

from carob.evidence.exports import carob_records
from carob.journal import views
from carob.model.run import CaseRecord, Header
from carob.model.suite import Case
from carob.model.trace import Trace
from carob.model.verdict import CaseStatus, Verdict

VIEWS = {
    name: value
    for name, value in vars(views).items()
    if isinstance(value, type) and issubclass(value, Struct) and value.__module__ == views.__name__
}
RECORDS = {name: view for name, view in VIEWS.items() if name.startswith("Record")}


def default_of(field: FieldInfo) -> object:
    return field.default if field.default_factory is NODEFAULT else field.default_factory()


def differences(view: type[Struct], full: type[Struct], reached: set[type]) -> Iterator[str]:
    """What a view says otherwise than the struct whose lines it decodes."""
    reached.add(view)
    theirs = {field.encode_name: field for field in msgspec.structs.fields(full)}
    for field in msgspec.structs.fields(view):
        where = f"{view.__name__}.{field.name}"
        match = theirs.get(field.encode_name)
        if match is None or match.name != field.name:
            yield f"{where} is not a field of {full.__name__}"
            continue
        hints = get_type_hints(view), get_type_hints(full)
        mine, other = hints[0][field.name], hints[1][field.name]
        yield from (f"{where}: {why}" for why in type_differences(mine, other, reached))
        if not same_default(default_of(field), default_of(match)):
            yield f"{where} is {default_of(field)!r} where it is missing, not {default_of(match)!r}"


def type_differences(mine: Any, full: Any, reached: set[type]) -> Iterator[str]:
    if get_origin(mine) is tuple is get_origin(full):
        yield from type_differences(get_args(mine)[0], get_args(full)[0], reached)
    elif is_view(mine) and full == dict[str, Any]:
        reached.add(mine)  # the content is free: a view of it may neither require a key nor refuse a value
        if not all(field.type is object and field.default is None for field in msgspec.structs.fields(mine)):
            yield "a key is required, or not of any type"
    elif is_view(mine) and isinstance(full, type) and issubclass(full, Struct):
        yield from differences(mine, full, reached)
    elif not (mine == full or mine is Raw or (mine == dict[str, object] and full == dict[str, Any])):
        yield f"it is {mine}, not {full}"


def is_view(kind: object) -> bool:
    return kind in VIEWS.values()


def same_default(mine: object, full: object) -> bool:
    return mine == full or (full == {} and is_view(type(mine)) and mine == type(mine)())


@pytest.mark.parametrize("view", RECORDS.values(), ids=RECORDS)
def test_view_agrees_with_the_record(view: type[Struct]) -> None:
    assert list(differences(view, CaseRecord, set())) == []


def test_a_summary_of_a_record_is_that_of_its_line() -> None:
    case = Case(id="c", prompt="p", checks=(), category="k")
    verdict = Verdict(CaseStatus.FAIL, reason="a check failed")
    plain = CaseRecord(index=3, case=case, trace=Trace(case_id="c", tool_calls=()), verdict=verdict)
    retried = structs.replace(plain, repeat=2, duration_ms=1.5, attempts=(plain.trace, plain.trace))
    for record in (plain, retried):
        line = msgspec.json.encode(record)
        assert views.RecordSummary.of(record) == msgspec.json.decode(line, type=views.RecordSummary)


def test_no_view_is_left_out() -> None:
    reached: set[type] = {views.LineKind}
    for view in RECORDS.values():
        assert list(differences(view, CaseRecord, reached)) == []
    assert set(VIEWS.values()) == reached


def test_line_kind_agrees_with_the_header() -> None:
    kind, form = msgspec.structs.fields(views.LineKind)
    assert kind.encode_name == Header.__struct_config__.tag_field == CaseRecord.__struct_config__.tag_field
    match = next(field for field in msgspec.structs.fields(Header) if field.encode_name == form.encode_name)
    assert (form.type, form.default) == (match.type, match.default)


def test_replay_finds_the_trace_of_a_record() -> None:
    """Replay may not import the journal, and reads lines of other forms with the same struct."""
    named = {field.encode_name for field in msgspec.structs.fields(carob_records._Line)} - {"kind"}
    assert named <= {field.encode_name for field in msgspec.structs.fields(CaseRecord)}


class _OtherDefault(Struct):
    index: int
    repeat: int = 1


class _OtherType(Struct):
    index: str


class _OtherName(Struct):
    place: int


class _NotRequired(Struct):
    index: int = 0


@pytest.mark.parametrize("view", [_OtherDefault, _OtherType, _OtherName, _NotRequired])
def test_a_view_that_differs_is_found(view: type[Struct]) -> None:
    assert len(list(differences(view, CaseRecord, set()))) == 1
