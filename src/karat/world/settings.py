"""What `[tape]` in karat.toml says, and the command line: which tape, what is done with it, and for which services."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, field

from karat.options import TapeMode
from karat.world.services import SERVICES, Service

MISS = "tape-miss"
"""The kind of error of a case whose request has no recording."""
UNUSED = "tape-unused"
"""That of a case that was recorded and sent nothing to the tape."""
Address = Annotated[str, Meta(pattern="^https?://.")]
Name = Annotated[str, Meta(pattern="^[a-z][a-z0-9_-]*$")]

_KEY_ENDINGS = ("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_ACCESS_KEY", "_KEY")
SHORTEST_SECRET = 8


class NamedService(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A service of the project: where it is, and the variables in which the agent finds that."""

    url: Address
    env: tuple[str, ...]


class TapeTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The table `[tape]` of karat.toml."""

    mode: TapeMode | None = None
    file: str = ""
    ignore: tuple[str, ...] = ()
    """JSON paths and patterns that do not count when two requests are compared."""
    live: tuple[str, ...] = ()
    """Services that stay real, and hosts of others that may be reached in a replay."""
    keep_failures: bool = False
    """Whether an answer that is an error is recorded; without it, the next attempt is."""
    max_age_days: Annotated[int, Meta(ge=1)] | None = None
    """After so many days `karat tape check` calls a recording expired."""
    port: Annotated[int, Meta(ge=0, le=65535)] = 0
    """Of the tape, for an agent that runs already; `token` is the first part of its address."""
    token: str = ""
    services: dict[Name, NamedService] = field(default_factory=dict)


class TapeSettings(TapeTable, frozen=True, kw_only=True):
    """All that a worker needs to play or record."""

    path: Path
    plays: TapeMode
    secrets: tuple[str, ...] = ()

    def known_services(self, environ: Mapping[str, str]) -> tuple[tuple[Service, str], ...]:
        """Each service with its address."""
        own = [Service(name, one.url, dict.fromkeys(one.env, "")) for name, one in self.services.items()]
        found = [(one, one.address(environ)) for one in SERVICES]
        # A variable that the project names is the project's: later ones win.
        return (*((one, address) for one, address in found if address), *((one, one.upstream) for one in own))

    @property
    def records(self) -> bool:
        return self.plays in ("record", "extend")


def secrets_in(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The values of variables that are secrets by their names: no tape may hold one."""
    return tuple(
        value for name, value in environ.items() if name.endswith(_KEY_ENDINGS) and len(value) >= SHORTEST_SECRET
    )
