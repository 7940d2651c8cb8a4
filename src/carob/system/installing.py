"""How Carob was installed, and the command that installs one of its extras in the same way."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from typing import Any
from urllib.parse import unquote, urlsplit


def read_origin() -> dict[str, Any]:
    """Where this Carob was installed from, as PEP 610 has it; empty for a package index."""
    from importlib.metadata import distribution  # late: it takes a tenth of all that judging has to import

    origin: dict[str, Any] = json.loads(distribution("carob").read_text("direct_url.json") or "{}")
    return origin


def requirement(extra: str = "") -> str:
    """What names this Carob to pip; a folder by its path."""
    name, origin = f"carob[{extra}]" if extra else "carob", read_origin()
    if not origin:
        return name
    if "dir_info" in origin:
        return unquote(urlsplit(origin["url"]).path) + (f"[{extra}]" if extra else "")
    address, control = without_user(origin["url"]), origin.get("vcs_info")
    return f"{name} @ {control['vcs']}+{address}@{control['commit_id']}" if control else f"{name} @ {address}"


def install_extra(extra: str) -> str:
    """The command that adds an extra to this Carob, such as `pip install '/home/me/carob[http]'` for a clone."""
    tool = "pip" if find_spec("pip") else "uv pip"
    edited = "-e " if read_origin().get("dir_info", {}).get("editable") else ""
    return f"{tool} install {edited}'{requirement(extra)}'"


def without_user(address: str) -> str:
    """An address without a user or a password."""
    return re.sub(r"(?<=//)[^/@]*@", "", address)
