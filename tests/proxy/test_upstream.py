"""Where a service may send its client: only below its own address, where the proxy sees what is asked."""

from __future__ import annotations

import pytest

from carob.proxy.upstream import Upstream
from carob.system.loopback_auth import RefusedRequest

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    "address", ["/v2/files", "/", "http://models.example/v1/files", "https://evil.example/v1/files"]
)
def test_an_address_outside_of_the_service_is_refused(address: str) -> None:
    with pytest.raises(RefusedRequest, match="openai redirected the agent to another address"):
        Upstream("https://models.example/v1", "openai").path_below(address)


def test_an_address_of_the_service_is_the_path_below_it() -> None:
    upstream = Upstream("https://models.example/v1", "openai")
    assert upstream.path_below("https://models.example/v1/files?page=2") == "/files?page=2"
    assert upstream.path_below("/v1/files") == "/files"
