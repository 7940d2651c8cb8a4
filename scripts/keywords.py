"""Declares the keywords of `carob.check`, `carob.case` and `carob.suite` for editors and type checkers.

The build of Carob writes the file, for an editable install too; `python scripts/keywords.py` writes it again.
Nothing imports it when Carob runs. A build also keeps the commit that it was made of.
"""

from __future__ import annotations

import sys
import tempfile
import textwrap
from collections.abc import Mapping
from pathlib import Path
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path(__file__).parents[1] / "src"
sys.path.insert(0, str(SOURCE))

# A build imports Carob from the sources that it packs.
from carob.version import commit_of_checkout  # noqa: E402

FILE = SOURCE / "carob" / "checks" / "_keywords.pyi"
HEAD = '''\
"""The keywords of `carob.check`, `carob.case` and `carob.suite`. Written by scripts/keywords.py from the catalog."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict
'''
OF_SUITE = {
    "effects": ("Mapping[str, Sequence[str]]", "What tools change, and the words that claim it, as in a suite."),
    "words": ("Mapping[str, object]", "Word lists in place of the published ones, as in a suite."),
}


SURROUNDINGS = {
    "stubs": ("Mapping[str, Mapping[str, object]]", "What answers instead of tools in every case, as in a suite."),
    "faults": ("Sequence[Mapping[str, object]]", "What goes wrong around the agent in every case, as in a suite."),
}
DESCRIPTION = {"description": ("str", "What the suite is for.")}
OF_CASE = {
    "category": "str",
    "tags": "Sequence[str]",
    "skip": "str",
    "xfail": "str",
    "cluster": "str",
    "setup_prompts": "Sequence[str]",
    "preconditions": "Sequence[str]",
    "turns": "Sequence[Mapping[str, object]]",
    "replies": "Sequence[Mapping[str, object]]",
    "max_turns": "int",
    "scoring": "Mapping[str, object]",
    "stubs": "Mapping[str, Mapping[str, object]]",
    "faults": "Sequence[Mapping[str, object]]",
    "override": "Sequence[str]",
}


class KeywordsHook(BuildHookInterface[Any]):
    """Writes the file before Carob is packed or installed, and packs the name of the commit."""

    _folder: tempfile.TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        write_keywords()
        if version != "editable" and (commit := commit_of_checkout()):
            self._folder = tempfile.TemporaryDirectory()
            file = Path(self._folder.name) / "COMMIT"
            file.write_text(commit)
            build_data["force_include"][str(file)] = f"{'src/' * (self.target_name == 'sdist')}carob/{file.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self._folder:
            self._folder.cleanup()


def write_keywords() -> None:
    """Write the file, if it is not there or is of another catalog."""
    declared = keywords_module()
    if not FILE.exists() or FILE.read_text() != declared:
        FILE.write_text(declared)


def keywords_module() -> str:
    """The module that declares the keywords, from the fields of the checks."""
    from carob.checks.catalog import OWN_FIELDS  # late: only where a file is written
    from carob.suites.formats.carob1 import shape

    classes: dict[str, str] = {}
    keys = {name: (_hint(field.type, classes), field.doc) for name, field in OWN_FIELDS.items()}
    case = shape(OWN_FIELDS, ()).case.keys
    of_case = {key: (hint, case[key].doc) for key, hint in OF_CASE.items()}
    of_case["min_pass_rate"] = ("float", "The rate at which the case must pass when it is repeated.")
    expected = "ExpectedKeywords"
    declared = (
        _typed_dict(expected, "What is expected of a trace, in the words of a suite.", keys),
        _typed_dict("CheckKeywords", "The keywords of `carob.check`.", OF_SUITE, expected),
        _typed_dict("CaseKeywords", "The keywords of `carob.case`.", of_case, expected),
        _typed_dict("SuiteKeywords", "The keywords of `carob.suite`.", DESCRIPTION | OF_SUITE | SURROUNDINGS),
    )
    return HEAD + "".join(classes.values()) + "".join(declared)


def _typed_dict(name: str, about: str, keys: Mapping[str, tuple[str, str]], base: str = "TypedDict") -> str:
    members = "".join(f"    {key}: {hint}\n    {_docstring(doc)}\n" for key, (hint, doc) in keys.items())
    return f"\n\nclass {name}({base}, total=False):\n    {_docstring(about)}\n\n{members}"


def _docstring(text: str) -> str:
    line = f'"""{text}"""'
    return line if len(line) <= 116 else '"""' + "\n    ".join(textwrap.wrap(text, 112)) + '\n    """'


def _hint(kind: Any, classes: dict[str, str]) -> str:
    """A type of a field as Python spells it, without bounds; objects with known keys become classes of their own."""
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Annotated, Required, NotRequired):
        return _hint(args[0], classes)
    if origin is Literal:
        return f"Literal[{', '.join(map(_quoted, args))}]"
    if isinstance(kind, UnionType) or origin is Union:
        return " | ".join(dict.fromkeys(_hint(member, classes) for member in args))
    if origin is list:
        return f"Sequence[{_hint(args[0], classes)}]"
    if origin is dict:
        return f"Mapping[str, {_hint(args[1], classes)}]"
    if is_typeddict(kind):
        return _declare_class(kind, classes)
    return kind.__name__ if kind in (str, int, float, bool) else "object"


def _quoted(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _declare_class(kind: Any, classes: dict[str, str]) -> str:
    name = f"{kind.__name__}Keys"
    hints = get_type_hints(kind, include_extras=True)
    keys = {key: (_hint(hint, classes), _description(hint)) for key, hint in hints.items()}
    classes[name] = _typed_dict(name, kind.__doc__, keys)
    return name


def _description(hint: Any) -> str:
    """What the key of an object is described as."""
    if get_origin(hint) in (Required, NotRequired):
        return _description(get_args(hint)[0])
    return next((meta.description for meta in getattr(hint, "__metadata__", ()) if meta.description), "")


if __name__ == "__main__":
    write_keywords()
