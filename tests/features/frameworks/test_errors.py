"""What a target of a framework says where it cannot be one."""

from __future__ import annotations

from pathlib import Path

import pytest

from carob.errors import ConfigError
from carob.features.frameworks.feature import KINDS
from carob.features.frameworks.target import FrameworkTarget
from carob.plugins.features import load
from carob.targets.config import TargetConfig

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_package_is_named_with_its_install_line(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("carob.features.frameworks.target.find_spec", lambda name: None)
    target = FrameworkTarget(TargetConfig(kind=kind, spec="agent:agent", root=tmp_path, folder=tmp_path))
    with pytest.raises(ConfigError, match="which is not installed") as raised:
        target._load()
    assert raised.value.fix.endswith(f"pip install {load(KINDS[kind]).package}")
