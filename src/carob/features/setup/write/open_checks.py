"""What the sets of a project still need from their author: elements for sentences, a log, the fields of a context."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from carob.checks.catalog import CheckCatalog
from carob.checks.page.ui import Ui, grammar
from carob.checks.telemetry import Telemetry
from carob.features.setup.inspect.inspection import inline, key
from carob.features.setup.survey.findings import FoundSuite, Survey
from carob.model.check import CheckSpec
from carob.model.suite import Case
from carob.suites import loads
from carob.text.wording import pluralize, visible

HOOK_FILE = "carob_hooks.py"
SETUP = "carob_hooks:setup"
EMPTY = {"text": '"test"', "int": "0", "float": "0.0", "bool": "False", "list": "[]", "table": "{}"}
MOST = 30


def open_checks(survey: Survey, name: str, catalog: CheckCatalog, *, has_log: bool) -> list[str]:
    """Lines of carob.toml, one for each check of the live app's eval sets that cannot be decided yet."""
    specs = [found for suite in survey.suites if suite.is_live for found in _checks(survey, suite, catalog)]
    sentences: dict[str, list[str]] = {}
    for case_id, spec in specs:
        args = msgspec.json.decode(spec.args)
        sentence = args.get("sentence", "") if spec.name == Ui.name else ""
        if sentence and not grammar(sentence):
            sentences.setdefault(sentence, []).append(case_id)
    logged = [case_id for case_id, spec in specs if spec.name == Telemetry.name]
    lines = list(_vocabulary(name, sentences))
    if logged and not has_log:
        lines += [
            "",
            f'# UNKNOWN without the app\'s log: `telemetry` of {_enumerate(logged)}. Set telemetry = {{ log = "..." }}',
        ]
    return lines


def context_hook(fields: Sequence[str]) -> str:
    """A module with the setup hook of a graph, each field of its context to be filled in."""
    pairs = [field.partition(": ")[::2] for field in fields]
    lines = "".join(f"        {json.dumps(name)}: {EMPTY.get(kind, 'None')},  # {kind}\n" for name, kind in pairs)
    return f'''"""Carob calls `setup` before each case: what it returns is the context of the graph. Fill it in."""


def setup() -> dict[str, object]:
    return {{
{lines}    }}
'''


def with_hook(table: Mapping[str, object]) -> dict[str, object]:
    """The table of a graph whose context comes from the hook, instead of the invented one."""
    options = table.get("options")
    kept = {name: value for name, value in options.items() if name != "context"} if isinstance(options, dict) else {}
    return {**{name: value for name, value in table.items() if name != "options"}, "setup": SETUP} | (
        {"options": kept} if kept else {}
    )


def _checks(survey: Survey, suite: FoundSuite, catalog: CheckCatalog) -> Iterator[tuple[str, CheckSpec]]:
    path = survey.folder / suite.path
    cases: Sequence[Case] = loads(path.read_bytes(), str(path), catalog).cases
    yield from ((case.id, spec) for case in cases for spec in case.checks)


def _vocabulary(name: str, sentences: Mapping[str, Sequence[str]]) -> Iterator[str]:
    if not sentences:
        return
    yield from ("", "# Sentences of `ui` that are UNKNOWN until a line says what they mean (docs/eval-sets.md):")
    yield f"[targets.{key(name)}.ui_vocabulary]"
    for sentence, cases in list(sentences.items())[:MOST]:
        yield f'# {inline(visible(sentence))} = [{{ role = "...", name = "..." }}] # {_enumerate(cases)}'
    if len(sentences) > MOST:
        yield f"# and {pluralize(len(sentences) - MOST, 'sentence')} more: `carob lint` lists them"


def _enumerate(cases: Sequence[str]) -> str:
    names = list(dict.fromkeys(cases))
    return visible(", ".join(names[:4])) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
