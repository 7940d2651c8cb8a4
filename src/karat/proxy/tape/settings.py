"""What `[tape]` in karat.toml says, and the command line: which tape, what is done with it, and for which services."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, field

from karat.options import TapeMode
from karat.proxy.services import SERVICES, TapedService

UNREACHABLE = "tape-unreachable"
"""The slug for an agent that cannot be pointed at the proxy."""
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
    stdio: tuple[Name, ...] = ()
    """MCP servers that the agent starts by `karat tape stdio NAME`: stubs and faults can reach their tools."""


class TapeSettings(TapeTable, frozen=True, kw_only=True):
    """All that a worker needs to play or record, or to hand requests on."""

    path: Path = Path()
    plays: TapeMode | None = None
    """None: there is no tape, and requests are handed on."""
    secrets: tuple[str, ...] = ()
    for_faults: bool = False
    """Whether a case has a stub or a fault that may need the proxy."""

    def known_services(self, environ: Mapping[str, str]) -> tuple[tuple[TapedService, str], ...]:
        """Each service with its address: not that of the proxy, which an agent that runs already was given."""
        if self.port:
            places = tuple(f"http://{host}:{self.port}/" for host in ("127.0.0.1", "localhost"))
            environ = {name: value for name, value in environ.items() if not value.startswith(places)}
        own = [TapedService(name, one.url, dict.fromkeys(one.env, "")) for name, one in self.services.items()]
        found = [(one, one.address(environ)) for one in SERVICES]
        # A variable that the project names is the project's: later ones win.
        return (*((one, address) for one, address in found if address), *((one, one.upstream) for one in own))

    @property
    def needs_proxy(self) -> bool:
        return self.plays is not None or self.for_faults

    @property
    def records(self) -> bool:
        return self.plays in ("record", "extend")


def secrets_in(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The values of variables that are secrets by their names: no tape may hold one."""
    return tuple(
        value for name, value in environ.items() if name.endswith(_KEY_ENDINGS) and len(value) >= SHORTEST_SECRET
    )
