"""Where services are: what variables say, with the path that each server has, and by the proxy of the network."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

from carob.proxy.server import CaseSession, ServiceProxy
from carob.proxy.tape.requests import IgnoreRules, ServiceRequest
from carob.proxy.tape.settings import PLACEHOLDER, TapeSettings, variables_for
from carob.proxy.upstream import Upstream, find_proxy
from laws.test_recorded_reads_back import Sent, ask

OTHER = "/chat/completions"


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was asked for."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = f"{self.path} {self.headers.get('Proxy-Authorization', '')}".strip().encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""


@contextmanager
def echo() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("base", "asked"),
    [
        ("/v1", "/v1/chat/completions"),
        ("", "/chat/completions"),
        ("/v1beta/openai", "/v1beta/openai/chat/completions"),
        ("/api/v1", "/api/v1/chat/completions"),
        ("/v1beta/openai/", "/v1beta/openai/chat/completions"),
    ],
)
@pytest.mark.parametrize("usual", [False, True], ids=["given", "usual"])
def test_an_agent_asks_what_it_would_have_asked(base: str, asked: str, usual: bool) -> None:
    """Whether it was given the address, or was started with the usual one for a port that is chosen."""
    with echo() as server:
        environ = {"OPENAI_BASE_URL": server + base}
        (service, address), *_ = (pair for pair in TapeSettings().known_services(environ) if pair[0].name == "openai")
        proxy = ServiceProxy(
            None, {"openai": Upstream(address, "openai", strip=service.strip)}, frozenset(), lambda name: CaseSession()
        )
        proxy.open()
        try:
            given = variables_for([service], proxy.url)["OPENAI_BASE_URL"]
            url = f"{proxy.url('openai')}/v1" if usual else given
            assert ask(url + OTHER, Sent("POST")).body.decode() == asked
        finally:
            proxy.close()


def test_a_replay_needs_no_address() -> None:
    """A request is the same wherever the provider has its API."""
    paths = (
        "/v1/chat/completions",
        "/v1beta/openai/chat/completions",
        "/chat/completions",
        "/openai/v1/chat/completions",
    )
    keys = {ServiceRequest.of("openai", "POST", path, "", b"{}").key(IgnoreRules()) for path in paths}
    assert len(keys) == 1
    others = {ServiceRequest.of("shop", "POST", path, "", b"{}").key(IgnoreRules()) for path in paths}
    assert len(others) == len(paths)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("localhost:1234", "http://localhost:1234"),
        ("gpu.example", "http://gpu.example:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        (":4000", "http://127.0.0.1:4000"),
        ("https://ollama.example", "https://ollama.example"),
        ("http://127.0.0.1:11434/", "http://127.0.0.1:11434"),
    ],
)
def test_ollama_host_is_read_as_ollama_reads_it(host: str, address: str) -> None:
    known = {service.name: where for service, where in TapeSettings().known_services({"OLLAMA_HOST": host})}
    assert known["ollama"] == address


@pytest.mark.parametrize("mode", ["replay", "follow"])
def test_a_replay_has_placeholders_for_keys(mode: str) -> None:
    settings = TapeSettings(plays=mode, live=("mistral",))  # type: ignore[arg-type]  # one of the modes
    keys = settings.placeholders({"ANTHROPIC_API_KEY": "mine", "GEMINI_API_KEY": "mine"})
    assert keys["OPENAI_API_KEY"] == keys["COHERE_API_KEY"] == PLACEHOLDER
    assert not {"ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "MISTRAL_API_KEY", "AZURE_API_KEY"} & keys.keys()


@pytest.mark.parametrize("mode", ["record", "extend", None])
def test_a_recording_has_no_placeholders(mode: str | None) -> None:
    assert TapeSettings(plays=mode).placeholders({}) == {}  # type: ignore[arg-type]  # one of the modes


def test_a_recording_goes_by_the_proxy_of_the_network() -> None:
    with echo() as network:
        environ = {"HTTP_PROXY": network.replace("//", "//user:p%40ss@")}
        upstream = Upstream("http://models.example/v1", "models", environ)
        proxy = ServiceProxy(None, {"models": upstream}, frozenset(), lambda name: CaseSession())
        proxy.open()
        try:
            said = ask(f"{proxy.url('models')}/x", Sent("POST")).body.decode()
        finally:
            proxy.close()
    assert said == "http://models.example/v1/x Basic dXNlcjpwQHNz"


@pytest.mark.parametrize(
    ("environ", "proxy"),
    [
        ({"HTTPS_PROXY": "http://p:1"}, "p"),
        ({"https_proxy": "p:1"}, "p"),
        ({"ALL_PROXY": "http://p:1"}, "p"),
        ({"HTTP_PROXY": "http://p:1"}, None),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "example"}, None),
        ({"HTTPS_PROXY": "http://p:1", "no_proxy": "a, .api.example"}, None),
        ({"HTTPS_PROXY": "http://p:1", "no_proxy": "*"}, None),
        ({"HTTPS_PROXY": "http://p:1", "no_proxy": "pi.example"}, "p"),
        ({"HTTPS_PROXY": "socks5://p:1"}, None),
        ({}, None),
    ],
)
def test_the_proxy_of_the_network_is_read_as_clients_read_it(environ: dict[str, str], proxy: str | None) -> None:
    found = find_proxy("https", "api.example", environ)
    assert (found and found.hostname) == proxy


def test_a_websocket_is_refused_in_words() -> None:
    with echo() as server:
        proxy = ServiceProxy(None, {"openai": server}, frozenset(), lambda name: CaseSession())
        proxy.open()
        connection = http.client.HTTPConnection(urlsplit(proxy.address).netloc, timeout=20)
        try:
            path = proxy.url("openai").partition(urlsplit(proxy.address).netloc)[2]
            connection.request("GET", f"{path}/v1/realtime", headers={"Connection": "Upgrade", "Upgrade": "websocket"})
            reply = connection.getresponse()
            assert reply.status == 501
            assert b"the agent asked for a WebSocket, which Carob can neither record nor read" in reply.read()
        finally:
            connection.close()
            proxy.close()
