"""The tools that only read dynos: what they are, and when they are serviced."""

from dataclasses import dataclass

from sqlalchemy import select

from dyno_agent.database import DynoContext, reading
from dyno_agent.inputs import read_drive, read_optional_window, read_test_type, read_weight_class
from dyno_agent.lab import load_dynos
from dyno_agent.models import Dyno, Maintenance
from dyno_agent.results import InputProblem, Result, counted, failed, shown, succeeded
from dyno_agent.rules import DynoFacts, Window


@dataclass(frozen=True, slots=True)
class _Service:
    dyno: str
    window: Window
    reason: str

    def __str__(self) -> str:
        return f"{self.dyno} {self.window} ({self.reason})"


async def list_dynos(
    context: DynoContext, weight_class: str | None, drive: str | None, test_type: str | None
) -> Result:
    """The lab's dynos and what each supports, whatever their calendars say."""
    wanted_class = read_weight_class(weight_class) if weight_class else None
    wanted_drive = read_drive(drive) if drive else None
    wanted_test = read_test_type(test_type) if test_type else None
    async with reading(context) as connection:
        dynos = [
            dyno
            for dyno in await load_dynos(connection, ())
            if (wanted_class is None or wanted_class in dyno.weight_classes)
            and (wanted_drive is None or wanted_drive in dyno.drives)
            and (wanted_test is None or wanted_test in dyno.test_types)
        ]
    listed = "; ".join(_described(dyno) for dyno in dynos)
    conditions = " ".join(word for word in (wanted_class, wanted_drive, wanted_test) if word)
    noun = f"{counted(len(dynos), 'dyno')}{f' for {conditions}' if conditions else ''}"
    return succeeded(f"{noun}{': ' if dynos else ''}{listed}.", dynos=[_dyno_row(dyno) for dyno in dynos])


def _described(dyno: DynoFacts) -> str:
    state = "enabled" if dyno.enabled else "disabled"
    return (
        f"{dyno.name} (weight {'/'.join(dyno.weight_classes)}, drives {'/'.join(dyno.drives)}, "
        f"tests {'/'.join(dyno.test_types)}, {state})"
    )


def _dyno_row(dyno: DynoFacts) -> dict[str, object]:
    return {
        "name": dyno.name,
        "supported_weight_classes": list(dyno.weight_classes),
        "supported_drives": list(dyno.drives),
        "supported_test_types": list(dyno.test_types),
        "enabled": dyno.enabled,
        "available_from": dyno.available_from and str(dyno.available_from),
        "available_until": dyno.available_until and str(dyno.available_until),
    }


async def check_maintenance(
    context: DynoContext, dyno: str | None, start_date: str | None, end_date: str | None
) -> Result:
    """The services that are going on or planned; from today on unless the request says otherwise."""
    period = read_optional_window(start_date or str(context.today), end_date)
    query = select(Maintenance, Dyno.name).join(Dyno, Dyno.id == Maintenance.dyno_id).order_by(Maintenance.start_date)
    async with reading(context) as connection:
        names = list((await connection.execute(select(Dyno.name).order_by(Dyno.id))).scalars())
        services = [
            _Service(row.name, Window(row.start_date, row.end_date), row.reason)
            for row in await connection.execute(query)
        ]
    wanted = _known_dyno(dyno, names) if dyno else None
    found = [service for service in services if wanted in (None, service.dyno) and service.window.overlaps(period)]
    subject = wanted or "any dyno"
    if not found:
        return succeeded(f"No maintenance planned for {subject} in that time.", maintenance=[])
    listed = "; ".join(str(service) for service in found)
    rows = [
        {
            "dyno": service.dyno,
            "start_date": str(service.window.first),
            "end_date": str(service.window.last),
            "reason": service.reason,
        }
        for service in found
    ]
    return succeeded(f"{counted(len(found), 'maintenance period')}: {listed}.", maintenance=rows)


def _known_dyno(asked: str, names: list[str]) -> str:
    """A dyno by its name or its number: `DYNO-07`, `dyno 7`, `7`."""
    wanted = asked.strip().upper().removeprefix("DYNO").strip(" -#")
    for name in names:
        if wanted.lstrip("0") == name.removeprefix("DYNO-").lstrip("0"):
            return name
    raise InputProblem(failed(f"Dyno not found: {shown(asked)!r}. Known are {', '.join(names)}."))
