"""Code that is named by a spec: `module:name` or `file.py:name`, relative files below a folder."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from karat.errors import ConfigError
from karat.text.wording import did_you_mean, said


def load(spec: str, root: Path) -> Callable[..., object]:
    """The function that a spec names; relative files are looked for below `root`."""
    found = load_attribute(spec, root)
    if not callable(found):
        raise ConfigError(f"{spec!r} is a {type(found).__name__}, not a function.")
    return cast(Callable[..., Any], found)


def load_attribute(spec: str, root: Path) -> object:
    """Whatever a spec names."""
    place, colon, path = spec.rpartition(":")
    if not colon or not place or not path:
        raise ConfigError(f"{spec!r} names no function.", fix="Write it as 'module:function' or 'file.py:function'.")
    module = _from_file(root / place, spec) if place.endswith(".py") else _from_name(place, spec)
    found: object = module
    for name in path.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            near = did_you_mean(name, (known for known in dir(found) if not known.startswith("__")))
            raise ConfigError(f"{spec!r}: {place} has no {name!r}.", fix=near) from None
    return found


def extend_path(entries: Sequence[Path]) -> None:
    """Put directories at the head of sys.path, in this order, each once."""
    for entry in reversed([str(path.resolve()) for path in entries]):
        if entry in sys.path:
            sys.path.remove(entry)
        sys.path.insert(0, entry)


def _from_name(name: str, spec: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise ConfigError(
                f"{spec!r}: there is no module {error.name!r}.",
                fix="Run from its directory, or name its directory in `python_path`.",
            ) from None
        raise _not_importable(spec, error) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # importing runs the user's code
        raise _not_importable(spec, error) from error


def _from_file(file: Path, spec: str) -> ModuleType:
    if not file.is_file():
        raise ConfigError(f"{spec!r}: there is no file {file}.")
    top, inner = _packages(file.resolve())
    name = ".".join((top, *inner, file.stem))
    if name in sys.modules:
        return sys.modules[name]
    found = importlib.util.spec_from_file_location(name, file)
    if found is None or found.loader is None:
        raise ConfigError(f"{spec!r}: {file} cannot be imported.")
    module = importlib.util.module_from_spec(found)
    extend_path([file.parent])
    try:
        if inner:
            importlib.import_module(".".join((top, *inner)))
        sys.modules[name] = module
        found.loader.exec_module(module)
    except BaseException as error:  # importing runs the user's code
        sys.modules.pop(name, None)
        if isinstance(error, KeyboardInterrupt):
            raise
        raise _not_importable(spec, error) from error
    return module


def _packages(file: Path) -> tuple[str, list[str]]:
    """The packages that a file is in, below one made for it: so its relative imports find what stands around it."""
    folder, inner = file.parent, list[str]()
    while (folder / "__init__.py").is_file():
        folder, inner = folder.parent, [folder.name, *inner]
    top = f"karat_agent_{abs(hash(folder)):x}"
    if top not in sys.modules:
        package = ModuleType(top)
        package.__path__ = [str(folder)]
        sys.modules[top] = package
    return top, inner


def _not_importable(spec: str, error: BaseException) -> ConfigError:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    if isinstance(error, SyntaxError):
        where = f" at {error.filename}:{error.lineno}"
    return ConfigError(f"{spec!r} cannot be imported: {type(error).__name__}: {said(error)}{where}")
