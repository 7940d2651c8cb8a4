"""What `[tape]` in carob.toml says, and the command line: which tape, what is done with it, and for which services.

Each service is known by the environment variables in which its clients look for its address.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, field, structs

from carob.options import TapeMode

UNREACHABLE = "tape-unreachable"
"""The slug for an agent that cannot be pointed at the proxy."""
MISS = "tape-miss"
"""The kind of error of a case whose request has no recording."""
UNUSED = "tape-unused"
"""That of a case that was recorded and sent nothing to the tape."""
Address = Annotated[str, Meta(pattern="^https?://.")]
Name = Annotated[str, Meta(pattern="^[a-z][a-z0-9_-]*$")]

PLACEHOLDER = "carob-replay-placeholder"
"""What a replay gives to clients that ask for a key before they send."""


class TapedService(Struct, frozen=True):
    """A service with an address of its own. Without `upstream` it is known only where one of its variables is set."""

    name: str
    upstream: str
    variables: Mapping[str, str]
    """Every variable that a client reads the address from, with the path that the client expects to find in it."""
    strip: str = ""
    """What an agent that was given the usual address asks for before the path at the service."""

    def locate(self, environ: Mapping[str, str]) -> tuple[TapedService, str]:
        """It, and where it is: what the first variable that is set says, else where its clients look.

        An address without the usual path is the whole address, such as `https://api.deepseek.com`.
        """
        for name, path in self.variables.items():
            if address := _complete_address(environ.get(name, "").strip().rstrip("/"), self.name):
                if address.endswith(path):
                    return self, address.removesuffix(path)
                variables = {each: "" if usual == path else usual for each, usual in self.variables.items()}
                return structs.replace(self, variables=variables, strip=path), address
        return self, self.upstream

    def placeholders(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Its keys for a replay, unless the environment has one."""
        names = KEYS.get(self.name, ())
        return {} if any(environ.get(name) for name in names) else dict.fromkeys(names, PLACEHOLDER)


def _complete_address(address: str, service: str) -> str:
    """The address with its scheme; Ollama's variable is a host, where its server listens."""
    if not address or "://" in address:
        return address
    if service != "ollama":
        return f"http://{address}"
    host, _, port = address.rpartition(":") if ":" in address else (address, "", "")
    return f"http://{'127.0.0.1' if host in ('', '0.0.0.0') else host}:{port or OLLAMA_PORT}"


OLLAMA_PORT = 11434
KEYS: Mapping[str, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "gemini": ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "cohere": ("CO_API_KEY", "COHERE_API_KEY"),
    "azure": ("AZURE_OPENAI_API_KEY", "AZURE_API_KEY"),
    "bedrock": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
}
"""The variables from which clients of a service read a key, without which most send nothing."""
SERVICES = (
    TapedService("openai", "https://api.openai.com", {"OPENAI_BASE_URL": "/v1", "OPENAI_API_BASE": "/v1"}),
    TapedService(
        "anthropic",
        "https://api.anthropic.com",
        {"ANTHROPIC_BASE_URL": "", "ANTHROPIC_API_BASE": "", "ANTHROPIC_API_URL": ""},
    ),
    TapedService(
        "gemini", "https://generativelanguage.googleapis.com", {"GOOGLE_GEMINI_BASE_URL": "", "GEMINI_API_BASE": ""}
    ),
    TapedService("groq", "https://api.groq.com", {"GROQ_BASE_URL": "", "GROQ_API_BASE": "/openai/v1"}),
    TapedService("mistral", "https://api.mistral.ai", {"MISTRAL_API_BASE": "/v1"}),
    TapedService("cohere", "https://api.cohere.com", {"CO_API_URL": "", "COHERE_API_BASE": ""}),
    TapedService("ollama", "http://127.0.0.1:11434", {"OLLAMA_HOST": "", "OLLAMA_API_BASE": ""}),
    TapedService("azure", "", {"AZURE_OPENAI_ENDPOINT": "", "AZURE_API_BASE": ""}),
    TapedService("vertex", "", {"GOOGLE_VERTEX_BASE_URL": "", "VERTEXAI_API_BASE": ""}),
    TapedService("bedrock", "", {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "", "AWS_BEDROCK_RUNTIME_ENDPOINT": ""}),
)

MODELS = frozenset(service.name for service in SERVICES)

UNPROXIED = "127.0.0.1,localhost,::1"
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


class NamedService(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A service of the project: where it is, and the variables in which the agent finds that."""

    url: Address
    env: tuple[str, ...]


class TapeTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The table `[tape]` of carob.toml."""

    mode: TapeMode | None = None
    file: str = ""
    ignore: tuple[str, ...] = ()
    """JSON paths and patterns that do not count when two requests are compared."""
    live: tuple[str, ...] = ()
    """Services that stay real, and hosts of others that may be reached in a replay."""
    keep_failures: bool = False
    """Whether an answer that is an error is recorded; without it, the next attempt is."""
    max_age_days: Annotated[int, Meta(ge=1)] | None = None
    """After so many days `carob tape check` calls a recording expired."""
    port: Annotated[int, Meta(ge=0, le=65535)] = 0
    """Of the tape, for an agent that runs already; `token` is the first part of its address."""
    token: str = ""
    services: dict[Name, NamedService] = field(default_factory=dict)
    stdio: tuple[Name, ...] = ()
    """MCP servers that the agent starts by `carob tape stdio NAME`: stubs and faults can reach their tools."""


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
            ours = tuple(f"http://{host}:{self.port}/" for host in ("127.0.0.1", "localhost"))
            environ = {name: value for name, value in environ.items() if not value.startswith(ours)}
        public = (service.locate(environ) for service in SERVICES)
        project = [TapedService(name, table.url, dict.fromkeys(table.env, "")) for name, table in self.services.items()]
        # A variable that the project names is the project's: later ones win.
        return (*(pair for pair in public if pair[1]), *((service, service.upstream) for service in project))

    def placeholders(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Keys for clients that ask for one before they send; none where a service is really asked."""
        if self.plays not in ("replay", "follow"):
            return {}
        services = [service for service, _ in self.known_services(environ) if service.name not in self.live]
        return {name: value for service in services for name, value in service.placeholders(environ).items()}

    @property
    def needs_proxy(self) -> bool:
        return self.plays is not None or self.for_faults

    @property
    def records(self) -> bool:
        return self.plays in ("record", "extend")


def variables_for(
    services: Iterable[TapedService], url_of: Callable[[str], str], *, proxy: str = "", unproxied: Iterable[str] = ()
) -> dict[str, str]:
    """The environment that points every client at the tape.

    With `proxy`, whatever is not one of the services is sent there too, to be refused; `unproxied` hosts are not.
    """
    variables = {name: url_of(service.name) + path for service in services for name, path in service.variables.items()}
    if proxy:
        exempt = ",".join([UNPROXIED, *unproxied])
        variables |= dict.fromkeys(_PROXIES, proxy) | {"NO_PROXY": exempt, "no_proxy": exempt}
        # Clients that read proxies only when asked to.
        variables |= {"AIOHTTP_TRUST_ENV": "True", "NODE_USE_ENV_PROXY": "1"}
    return variables
