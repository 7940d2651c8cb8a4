"""Code that is named by a spec: `module:name` or `file.py:name`, relative files below a folder."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from carob.errors import ConfigError
from carob.text.wording import did_you_mean, error_text, with_article

PACKAGES = f"{os.sep}site-packages{os.sep}"
_LIBRARY = ("<", os.path.dirname(os.__file__), __file__)
SCRIPTS = frozenset(("cjs", "go", "js", "jsx", "mjs", "rb", "sh", "ts", "tsx"))
"""Endings of files in other languages."""
_IMPORTING = threading.RLock()
_PARKED: dict[tuple[str, ...], dict[str, ModuleType]] = {}
"""Modules of each import path whose names another project's modules have in `sys.modules`."""


def load(spec: str, root: Path, path: Sequence[Path]) -> Callable[..., object]:
    """Load the function that a spec names; files are relative to `root`, modules are looked for along `path` first."""
    value = load_attribute(spec, root, path)
    if not callable(value):
        raise ConfigError(f"{spec!r} is {with_article(type(value).__name__)}, not a function.")
    return cast(Callable[..., Any], value)


def load_attribute(spec: str, root: Path, path: Sequence[Path]) -> object:
    """Load whatever a spec names."""
    source, _, name_path = spec.rpartition(":")
    if not source or not name_path:
        message = f"{spec!r} does not name a function."
        raise ConfigError(message, fix="Write it as 'module:function' or 'file.py:function'.")
    is_file = source.endswith(".py")
    with _modules_of([(root / source).parent, *path] if is_file else path):
        value: object = _from_file(root / source, spec) if is_file else _from_name(source, spec, path)
    for name in name_path.split("."):
        try:
            value = getattr(value, name)
        except AttributeError:
            near = did_you_mean(name, (public for public in dir(value) if not public.startswith("__")))
            raise ConfigError(f"{spec!r}: {source} has no {name!r}.", fix=near) from None
    return value


def refuse_missing(spec: str, root: Path, path: Sequence[Path]) -> None:
    """Raise ConfigError for a file, module or name that is not there. No code is run for that."""
    source, _, name_path = spec.rpartition(":")
    name = name_path.partition(".")[0]
    if source.endswith(".py"):
        file = _existing(root / source, spec)
        if name not in file.read_text("utf-8", errors="replace"):
            raise ConfigError(f"{spec!r}: {source} has no {name!r}.", fix="Check the name of the function.")
    elif PathFinder.find_spec(_top(source), [*map(str, path), *sys.path]) is None:
        raise ConfigError(f"{spec!r}: there is no module {_top(source)!r}.", fix=_suggest_module(source, path))


def extend_path(entries: Sequence[Path]) -> None:
    """Put directories at the head of sys.path, in this order, each once."""
    for entry in reversed([str(path.resolve()) for path in entries]):
        if entry in sys.path:
            sys.path.remove(entry)
        sys.path.insert(0, entry)


@contextmanager
def _modules_of(path: Sequence[Path]) -> Iterator[None]:
    """Import from these folders first, although modules of another project may have the same names.

    Those keep their names in `sys.modules` afterwards: whoever imported them may do so again.
    """
    folders = [entry.resolve() for entry in path]
    key = tuple(map(str, folders))
    with _IMPORTING:
        extend_path(folders)
        hiding = _hiding_modules(folders)
        for name in hiding:
            del sys.modules[name]
        if hiding:
            sys.modules.update(_PARKED.get(key, {}))
        try:
            yield
        finally:
            if hiding:
                tops = {_top(name) for name in hiding}
                imported = {name: module for name, module in list(sys.modules.items()) if _top(name) in tops}
                _PARKED[key] = imported
                for name in imported:
                    del sys.modules[name]
                sys.modules.update(hiding)


def _hiding_modules(folders: Sequence[Path]) -> dict[str, ModuleType]:
    """The loaded modules that hide one of these folders: of the same name, from another place."""
    loaded: dict[str, dict[str, ModuleType]] = {}
    for name, module in list(sys.modules.items()):
        loaded.setdefault(_top(name), {})[name] = module
    listings = [(folder, frozenset(os.listdir(folder))) for folder in folders if folder.is_dir()]
    hiding: dict[str, ModuleType] = {}
    for top, modules in loaded.items():
        if top in sys.stdlib_module_names or top in ("__main__", "carob"):
            continue
        holders = (folder for folder, names in listings if not names.isdisjoint((top, f"{top}.py")))
        folder = next(holders, None)
        if folder and any(_is_elsewhere(module, _module_path(top, folder)) for module in modules.values()):
            hiding |= modules
    return hiding


def _top(name: str) -> str:
    return name.partition(".")[0]


def _module_path(name: str, folder: Path) -> Path:
    """The file or folder that holds the module of this name, in the order in which Python looks for it."""
    package, file = folder / name, folder / f"{name}.py"
    return file if file.is_file() and not (package / "__init__.py").is_file() else package


def _is_elsewhere(module: ModuleType, path: Path) -> bool:
    """Whether a module comes from another project: what is installed comes before what merely has its name."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str):
        return False
    origin = Path(file).resolve()
    return origin != path and path not in origin.parents and "site-packages" not in origin.parts


def _from_name(name: str, spec: str, path: Sequence[Path]) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            message = f"{spec!r}: there is no module {error.name!r}."
            raise ConfigError(message, fix=_suggest_module(name, path)) from None
        raise _not_importable(spec, error) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # importing runs the user's code
        raise _not_importable(spec, error) from error


def _suggest_module(name: str, path: Sequence[Path]) -> str:
    file, _, ending = name.rpartition(".")
    if file and ending in SCRIPTS:
        run = f"`command:PROGRAM {name}`"
        return f"{name} is not Python: start it as a service and name its http:// address, or run it as {run}."
    near = did_you_mean(name, [file.stem for folder in path for file in folder.glob("*.py")])
    return near or "Run from its directory, or name its directory in `python_path`."


def _existing(file: Path, spec: str) -> Path:
    if not file.is_file():
        near = did_you_mean(file.name, [entry.name for entry in file.parent.glob("*.py")])
        raise ConfigError(f"{spec!r}: there is no file {file}.", fix=near or "Check the path.")
    return file


def _from_file(file: Path, spec: str) -> ModuleType:
    _existing(file, spec)
    top, inner = _packages(file.resolve())
    name = ".".join((top, *inner, file.stem))
    if name in sys.modules:
        return sys.modules[name]
    module_spec = importlib.util.spec_from_file_location(name, file)
    if module_spec is None or module_spec.loader is None:
        raise ConfigError(f"{spec!r}: {file} cannot be imported.")
    module = importlib.util.module_from_spec(module_spec)
    try:
        if inner:
            importlib.import_module(".".join((top, *inner)))
        sys.modules[name] = module
        module_spec.loader.exec_module(module)
    except BaseException as error:  # importing runs the user's code
        sys.modules.pop(name, None)
        if isinstance(error, KeyboardInterrupt):
            raise
        raise _not_importable(spec, error) from error
    return module


def _packages(file: Path) -> tuple[str, list[str]]:
    """The packages that a file is in, below one made for it: so its relative imports find what is around it."""
    folder, inner = file.parent, list[str]()
    while (folder / "__init__.py").is_file():
        folder, inner = folder.parent, [folder.name, *inner]
    top = f"carob_agent_{abs(hash(folder)):x}"
    if top not in sys.modules:
        package = ModuleType(top)
        package.__path__ = [str(folder)]
        sys.modules[top] = package
    return top, inner


def _not_importable(spec: str, error: BaseException) -> ConfigError:
    frames = traceback.extract_tb(error.__traceback__)
    # What raised it may be the standard library or a package, where there is nothing to fix.
    user_frames = [f for f in frames if not f.filename.startswith(_LIBRARY) and PACKAGES not in f.filename]
    where = f" at {last.filename}:{last.lineno}" if (last := next(reversed(user_frames or frames), None)) else ""
    if isinstance(error, SyntaxError):
        where = f" at {error.filename}:{error.lineno}"
    fix = ""
    if isinstance(error, ModuleNotFoundError) and error.name:
        fix = f"Install it where Carob is ({sys.prefix}), or name its folder in `python_path`."
    return ConfigError(f"{spec!r} cannot be imported: {type(error).__name__}: {error_text(error)}{where}", fix=fix)
