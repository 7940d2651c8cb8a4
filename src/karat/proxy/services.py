"""The services that agents call, and the environment variables by which their clients find them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct


class TapedService(Struct, frozen=True):
    """A service with an address of its own. Without `upstream` it is known only where one of its variables is set."""

    name: str
    upstream: str
    variables: Mapping[str, str]
    """Every variable that a client reads the address from, with the path that the client expects to find in it."""

    def address(self, environ: Mapping[str, str]) -> str:
        """Where it is: what the first variable that is set says, else where its clients look."""
        for name, path in self.variables.items():
            if given := environ.get(name, "").rstrip("/"):
                return given.removesuffix(path)
        return self.upstream


SERVICES = (
    TapedService("openai", "https://api.openai.com", {"OPENAI_BASE_URL": "/v1", "OPENAI_API_BASE": "/v1"}),
    TapedService(
        "anthropic",
        "https://api.anthropic.com",
        {"ANTHROPIC_BASE_URL": "", "ANTHROPIC_API_BASE": "", "ANTHROPIC_API_URL": ""},
    ),
    TapedService(
        "gemini",
        "https://generativelanguage.googleapis.com",
        {"GOOGLE_GEMINI_BASE_URL": "", "GEMINI_API_BASE": ""},
    ),
    TapedService("groq", "https://api.groq.com", {"GROQ_BASE_URL": "", "GROQ_API_BASE": "/openai/v1"}),
    TapedService("mistral", "https://api.mistral.ai", {"MISTRAL_API_BASE": "/v1"}),
    TapedService("cohere", "https://api.cohere.com", {"CO_API_URL": "", "COHERE_API_BASE": ""}),
    TapedService("ollama", "http://127.0.0.1:11434", {"OLLAMA_HOST": "", "OLLAMA_API_BASE": ""}),
    TapedService("azure", "", {"AZURE_OPENAI_ENDPOINT": "", "AZURE_API_BASE": ""}),
    TapedService("vertex", "", {"GOOGLE_VERTEX_BASE_URL": "", "VERTEXAI_API_BASE": ""}),
    TapedService("bedrock", "", {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "", "AWS_BEDROCK_RUNTIME_ENDPOINT": ""}),
)

UNPROXIED = "127.0.0.1,localhost,::1"
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


def variables_for(
    services: Iterable[TapedService], url_of: Callable[[str], str], *, proxy: str = "", unproxied: Iterable[str] = ()
) -> dict[str, str]:
    """The environment that points every client at the tape.

    With `proxy`, whatever is not one of the services is sent there too, to be refused; `unproxied` hosts are not.
    """
    found = {name: url_of(one.name) + path for one in services for name, path in one.variables.items()}
    if proxy:
        exempt = ",".join([UNPROXIED, *unproxied])
        found |= dict.fromkeys(_PROXIES, proxy) | {"NO_PROXY": exempt, "no_proxy": exempt}
        # Clients that read proxies only when asked to.
        found |= {"AIOHTTP_TRUST_ENV": "True", "NODE_USE_ENV_PROXY": "1"}
    return found
