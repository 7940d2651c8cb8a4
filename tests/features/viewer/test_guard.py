"""Whom the viewer answers: a browser of this machine with the token, to read, and only the runs' own files."""

from __future__ import annotations

import http.client
import os
import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

import pytest

from carob.errors import JournalError, UsageError
from carob.features.viewer import library
from features.viewer.runs import Site


def asked(
    site: Site, path: str, headers: Mapping[str, str] | None = None, method: str = "GET", *, token: str | None = None
) -> tuple[int, Mapping[str, str], str]:
    """Status, headers and body of one request; with the token in its path unless another beginning is given."""
    connection = http.client.HTTPConnection(urlsplit(site.root).netloc, timeout=60)
    before = f"/{site.token}" if token is None else token
    connection.request(method, before + path, headers=headers or {})
    answer = connection.getresponse()
    body = answer.read().decode(errors="replace")
    found = {name.lower(): value for name, value in answer.getheaders()}
    connection.close()
    return answer.status, found, body


def test_the_token_is_in_the_path_and_no_cookie_is_set(viewed: Site) -> None:
    for path in ("/", f"/run/{viewed.first}", f"/run/{viewed.first}?text=a", "/none", "/static/carob.js"):
        _, headers, body = asked(viewed, path)
        assert "set-cookie" not in headers
        assert viewed.token not in body
    assert asked(viewed, "/run/x/")[0] == 404  # no redirect to an address without the token


@pytest.mark.parametrize("path", ["/", "/static/carob.js", "/compare", "/run/x/case/0/0/file/0", "/none"])
def test_without_the_token_nothing_is_shown(viewed: Site, path: str) -> None:
    port, token = urlsplit(viewed.root).port, viewed.token
    wrong = token[:-1] + ("A" if token[-1] != "A" else "B")
    for given in ("", "/", "//", f"/{wrong}", f"/{token[:-1]}", f"/{token}x", f"/%2e/{token}", f"/x/{token}"):
        status, _, body = asked(viewed, path, {"Cookie": f"carob-{port}={token}"}, token=given)
        assert status == 403, given
        assert body == "A request came without the token of this address. Open the address that `carob view` printed.\n"
    assert asked(viewed, f"{path}?token={token}", token="")[0] == 403


@pytest.mark.parametrize(
    ("headers", "method", "status"),
    [
        pytest.param({"Host": "evil.example"}, "GET", 421, id="foreign-host"),
        pytest.param({"Host": "127.0.0.1"}, "GET", 421, id="host-without-port"),
        pytest.param({"Host": "127.0.0.1.evil.example"}, "GET", 421, id="host-that-looks-like-it"),
        pytest.param({"Host": ""}, "GET", 421, id="no-host"),
        pytest.param({"Origin": "http://evil.example"}, "GET", 403, id="foreign-origin"),
        pytest.param({"Origin": "null"}, "GET", 403, id="hidden-origin"),
        pytest.param({"Sec-Fetch-Site": "cross-site"}, "GET", 403, id="cross-site"),
        pytest.param({"Sec-Fetch-Site": "same-site"}, "GET", 403, id="another-port"),
        pytest.param({}, "POST", 405, id="post"),
        pytest.param({}, "PUT", 405, id="put"),
        pytest.param({}, "DELETE", 405, id="delete"),
        pytest.param({}, "OPTIONS", 405, id="options"),
        pytest.param({}, "HEAD", 200, id="head"),
    ],
)
def test_others_are_refused(viewed: Site, headers: Mapping[str, str], method: str, status: int) -> None:
    answered, _, body = asked(viewed, "/", headers, method)
    assert answered == status
    assert body.startswith("The viewer is read-only.") == (status == 405), "the guard says so itself, not a page"
    assert asked(viewed, "/", {"Origin": viewed.origin})[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "/run/../../etc/passwd",
        "/run/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/static/../app.py",
        "/static/%2e%2e/pages.py",
        "/run/{key}/case/0/0/file/2",
        "/run/{key}/case/0/0/file/3",
        "/run/{key}/case/0/0/file/4",
        "/run/{key}/case/0/0/file/5",
        "/run/{key}/case/0/0/file/-1",
        "/run/{key}/case/0/0/file/files%2fshot.png",
        "/run/{key}/case/99999999999999999999999999/0",
        "/run/{key}/case/4294967296/0",
        "/run/{key}/case/-1/0",
        "/run/{key}/case/%D9%A3/0",
        "/run/{key}/case/0/9",
        "/run/{key}/case/0",
        "/run/{key}?start=99999999999999999999",
        "/run/{key}' OR 1=1 --".replace(" ", "%20"),
        "/run/" + "f" * 4000,
        "/compare",
        "/compare?base={key}&new=none",
    ],
)
def test_what_is_not_the_runs_own_is_not_there(viewed: Site, path: str) -> None:
    status, _, body = asked(viewed, path.replace("{key}", viewed.first))
    assert status == 404
    assert "secret" not in body
    assert "root:" not in body


def test_an_address_that_is_too_long_is_refused(viewed: Site) -> None:
    assert asked(viewed, "/run/" + "f" * 9000)[0] == 414


def test_every_answer_has_its_rules(viewed: Site) -> None:
    for path in ("/", f"/run/{viewed.first}", "/none", "/static/carob.css", f"/run/{viewed.first}/case/0/0/file/0"):
        _, headers, _ = asked(viewed, path)
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers
    status, headers, _ = asked(viewed, f"/run/{viewed.first}/case/0/0/file/1")
    assert (status, headers["content-type"]) == (200, "application/octet-stream")
    assert headers["content-disposition"].startswith("attachment")


def test_it_listens_on_this_machine_alone_and_says_when_a_port_is_taken(viewed: Site) -> None:
    port = urlsplit(viewed.root).port
    others = [info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)]
    # 127.0.0.2 is this machine too, and refused unless the viewer listens on every address.
    for address in {"127.0.0.2", *(other for other in others if not other.startswith("127."))}:
        with pytest.raises(OSError):  # noqa: PT011 - refused or unreachable, as the machine has it
            socket.create_connection((address, port), timeout=2).close()
    with pytest.raises(UsageError, match=rf"port {port} is in use\. Choose another with --port"):
        library.open_viewer(viewed.folder, port=port)


def test_folders_without_runs_and_foreign_journals_are_one_line(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(UsageError, match="no folder of results found here"):
        library.open_viewer()
    (tmp_path / "carob-results").mkdir()
    with pytest.raises(UsageError, match=r"carob-results: no run found here\. Run a suite first"):
        library.open_viewer()
    log = tmp_path / "carob-results" / "log.jsonl"
    log.write_text('{"a": 1}\n')
    with pytest.raises(UsageError, match=r"The \.jsonl files there are not journals"):
        library.open_viewer()
    with pytest.raises(JournalError, match="not a journal"):
        library.open_viewer(log)
    with pytest.raises(UsageError, match="it cannot be read: No such file"):
        library.open_viewer("nowhere")
    assert os.listdir(tmp_path / "carob-results") == ["log.jsonl"]


def test_a_browser_that_cannot_be_opened_is_told(viewed: Site, monkeypatch, tmp_path) -> None:
    import threading
    import webbrowser

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    messages, heard = [], threading.Event()
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    viewer = library.open_viewer(viewed.folder)
    viewer.open_browser(lambda words: (messages.append(words), heard.set()))
    assert heard.wait(30)
    assert messages == ["no browser could be opened: open the address yourself"]
    viewer.stop()
    viewer.run()
