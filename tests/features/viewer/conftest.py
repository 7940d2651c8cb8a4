from __future__ import annotations

from collections.abc import Iterator

import pytest

from browsing import browser
from features.viewer.runs import Site, site

__all__ = ["browser"]


@pytest.fixture(scope="module")
def viewed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        with site(tmp_path_factory.mktemp("project") / "carob-results") as made:
            yield made
