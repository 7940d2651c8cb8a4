"""Takes the hooks of a guard out of the settings of a coding agent, and removes what the guard kept.

`carob guard install` copies this file next to the rules: it needs nothing but Python, since Carob may be gone.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

INSTALLATION, UNDO = "guard.json", "undo.json"
MODULE = "carob.features.guard.hook"


def without_hooks(tree: dict[str, Any], file: Path) -> dict[str, Any]:
    """The settings without the hooks that read this file; those for other rules stay."""
    own = shlex.join((MODULE, str(file)))

    def is_own(hook: dict[str, Any]) -> bool:
        return own in hook.get("command", "")

    kept: dict[str, Any] = {}
    for event, groups in tree.get("hooks", {}).items():
        left = [group for group in groups if not group["hooks"] or not all(map(is_own, group["hooks"]))]
        if left or not groups:
            kept[event] = [{**group, "hooks": [hook for hook in group["hooks"] if not is_own(hook)]} for group in left]
    changed = {**tree, "hooks": kept} if "hooks" in tree else tree
    return changed if kept or not tree.get("hooks") else {key: tree[key] for key in tree if key != "hooks"}


def restore(tree: dict[str, Any], original: str | None) -> str | None:
    """The text of settings that hold this: as it was written before the guard, if that held the same; None: no file."""
    if original is None:
        return _format(tree) if tree else None
    return original if json.loads(original) == tree else _format(tree)


def remove_guard(folder: Path) -> bool:
    """Undo an installation by what it wrote down; whether there were hooks to take out."""
    undo = json.loads((folder / UNDO).read_text("utf-8"))
    path = Path(os.path.realpath(undo["settings"]))
    before = json.loads(path.read_text("utf-8")) if path.exists() else {}
    after = without_hooks(before, folder / INSTALLATION)
    if after != before:
        text = restore(after, undo["original"])
        if text is None:
            path.unlink()
        else:
            part = path.with_name(f".{path.name}.{os.getpid()}.part")
            part.write_bytes(text.encode())
            part.chmod(path.stat().st_mode & 0o777)
            part.replace(path)
    shutil.rmtree(folder)
    for made in reversed(undo["folders"]):
        with suppress(OSError):  # something else is in it by now
            os.rmdir(made)
    return bool(after != before)


def _format(tree: dict[str, Any]) -> str:
    return json.dumps(tree, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    remove_guard(Path(os.path.abspath(sys.argv[0])).parent)
    print("the guard was removed")
