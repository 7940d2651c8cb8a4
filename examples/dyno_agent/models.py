"""The lab's tables, and the constraint by which the database itself refuses a double booking."""

from datetime import date
from typing import Any

from sqlalchemy import DDL, CheckConstraint, Dialect, ForeignKey, String, event
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import TypeDecorator

from dyno_agent.policy import ACTIVE_STATUSES, STATUSES


class Words(TypeDecorator[tuple[str, ...]]):
    """A few words in one column, kept as `a,b` so that a plain SELECT can read and LIKE them on any database."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: tuple[str, ...] | None, dialect: Dialect) -> str | None:
        return None if value is None else ",".join(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> tuple[str, ...] | None:
        return None if value is None else tuple(value.split(","))


class Base(DeclarativeBase):
    """All tables of the lab."""


class Dyno(Base):
    """A dynamometer: what it can take, and when it exists at all."""

    __tablename__ = "dynos"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    supported_weight_classes: Mapped[tuple[str, ...]] = mapped_column(Words)
    supported_drives: Mapped[tuple[str, ...]] = mapped_column(Words)
    supported_test_types: Mapped[tuple[str, ...]] = mapped_column(Words)
    enabled: Mapped[bool]
    available_from: Mapped[date | None]
    available_until: Mapped[date | None]


class Vehicle(Base):
    """A vehicle that the lab has on its books."""

    __tablename__ = "vehicles"

    id: Mapped[int] = mapped_column(primary_key=True)
    vin: Mapped[str] = mapped_column(String(17), unique=True)
    model: Mapped[str]
    weight_lbs: Mapped[int]
    drive: Mapped[str]


class Maintenance(Base):
    """Days on which a dyno is being serviced, both ends included."""

    __tablename__ = "maintenance"

    id: Mapped[int] = mapped_column(primary_key=True)
    dyno_id: Mapped[int] = mapped_column(ForeignKey("dynos.id"))
    start_date: Mapped[date]
    end_date: Mapped[date]
    reason: Mapped[str]


class Allocation(Base):
    """A booking of a dyno for a vehicle, both days included."""

    __tablename__ = "allocations"
    __table_args__ = (
        CheckConstraint("end_date >= start_date", name="ends_after_it_starts"),
        CheckConstraint(f"status IN {STATUSES!r}", name="known_status"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    vehicle_id: Mapped[int] = mapped_column(ForeignKey("vehicles.id"))
    dyno_id: Mapped[int] = mapped_column(ForeignKey("dynos.id"))
    test_type: Mapped[str]
    start_date: Mapped[date]
    end_date: Mapped[date]
    status: Mapped[str]
    imported: Mapped[bool] = mapped_column(default=False)
    """Taken over from the old paper schedule, which did hold double bookings: those rows are exempt."""


_OCCUPIES = f"{{row}}status IN {ACTIVE_STATUSES!r} AND NOT {{row}}imported"


def _sqlite_overlap_trigger(event_name: str) -> DDL:
    return DDL(  # type: ignore[no-untyped-call]
        f"""
        CREATE TRIGGER no_double_booking_on_{event_name.lower()} BEFORE {event_name} ON allocations
        WHEN {_OCCUPIES.format(row="NEW.")}
        BEGIN
            SELECT RAISE(ABORT, 'double booking') FROM allocations AS other
            WHERE (other.dyno_id = NEW.dyno_id OR other.vehicle_id = NEW.vehicle_id)
              AND other.id IS NOT NEW.id AND {_OCCUPIES.format(row="other.")}
              AND other.start_date <= NEW.end_date AND NEW.start_date <= other.end_date;
        END"""
    )


def _postgresql_exclusion(column: str) -> DDL:
    # A one-number range instead of `=` needs no btree_gist extension, which an ordinary user may be unable to create.
    return DDL(  # type: ignore[no-untyped-call]
        f"""
        ALTER TABLE allocations ADD CONSTRAINT no_double_booking_of_{column} EXCLUDE USING gist (
            int4range({column}, {column}, '[]') WITH &&, daterange(start_date, end_date, '[]') WITH &&
        ) WHERE ({_OCCUPIES.format(row="")})"""
    )


for _name in ("INSERT", "UPDATE"):
    event.listen(Allocation.__table__, "after_create", _sqlite_overlap_trigger(_name).execute_if(dialect="sqlite"))
for _name in ("dyno_id", "vehicle_id"):
    event.listen(Allocation.__table__, "after_create", _postgresql_exclusion(_name).execute_if(dialect="postgresql"))
