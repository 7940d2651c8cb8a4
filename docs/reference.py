"""Writes checks.md, words.md, audit-operators.md and the options in running.md: `python docs/reference.py`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from carob.checks.catalog import CheckCatalog
from carob.features.audit.operators.catalog import EVERY_OPERATOR
from carob.matchers.reading import DOLLAR_KEYS
from carob.model.suite import DEFAULT_WEIGHTS
from carob.model.verdict import Group
from carob.options import HOW_TO_RUN, SELECTION, Option
from carob.plugins.project import Project
from carob.suites.formats.catalog import find_format
from carob.suites.shapes.types import NAME as MATCHER
from carob.text.words import WordList, published_lists

CATALOG = CheckCatalog(Project())
HEAD = """\
# Checks

Every key of `expected`, by the group that it scores in, then the [keys that are not checks](#keys-that-are-not-checks)
and the [matchers](#matchers). [suites.md](suites.md) has an example of each key. This page is written by
`python docs/reference.py` from the code.

Carob looks for text in the final message, and ignores letter case, repeated white space and typographic quotes. Regexes
ignore letter case, and `^` and `$` match at every line. Required words must be visible to a reader; forbidden words are
found however they are written: [how words are read](expect-answers.md#how-words-are-read).
"""
TABLE = """
| key | value | since | meaning |
|---|---|---|---|
"""
REST = """
## Keys that are not checks

These keys decide how the checks of a case become its status. You can also write `scoring` in the case itself, next to
`expected`, but not in both places. Golden sets have no `scoring`.

| key | value | meaning |
|---|---|---|
"""
MATCHERS = """
## Matchers

Use a matcher instead of a value in arguments, results, errors, JSON answers and state. Several matchers in one object
must all match. Plain values must be equal, objects have at least the given members, and lists must match completely.

| matcher | meaning |
|---|---|
"""
OPTIONS = """
| option | keyword |
|---|---|
"""
OPTIONS_BEGIN, OPTIONS_END = "<!-- written by docs/reference.py -->\n", "\n<!-- end -->"
WORDS = {"string": "a string", "integer": "a whole number", "number": "a number", "boolean": "true or false"}
MANY = {
    "a string": "strings",
    "a whole number": "whole numbers",
    "a number": "numbers",
    "any value": "values",
    "a value": "values",
    "matcher": "matchers",
}


WORDS_HEAD = """\
# Word lists

The words that Carob looks for in answers. It uses no others and does not guess what other words mean. This page is
written by `python docs/reference.py` from the lists in the code.

An entry matches as whole words and ignores letter case. `(a|b)` are alternatives, and `...` is up to four words.
Claims and requests are read in German, Spanish, French, Portuguese, Japanese and Chinese too, requests in Italian,
Dutch and Russian. The other lists are
English. To replace a list, write `words: {refusal: [...]}` at the top of a suite; to add to it, write
`words: {refusal: {add: [...]}}`. A table `[words]` in `carob.toml` does the same for every suite.

A wrong answer can pass if it uses other words, or these words with another meaning. `carob audit` tries such answers,
and shows [what your suite cannot catch](audit.md#the-limits-of-literal-words).
"""

OPERATORS_HEAD = """\
# Audit operators

What [`carob audit`](audit.md) makes wrong, and the keys of `expected` that can catch it. Operators that are not in the
kill rate are reported *apart*, with what would help. This page is written by `python docs/reference.py` from the code.

"""
OPERATORS_TABLE = """\

| operator | what is wrong | keys that can catch it |
|---|---|---|
"""
OPERATOR_KEYS = {
    "words": ("must_say_any", "expected_contains", "reason_contains", "must_match_regex"),
    "content": (
        *("required_sources", "must_ground_numbers", "must_label_assumptions", "required_levers"),
        *("claim_evidence_alignment", "must_allow_override_actions"),
    ),
}
"""Keys that many operators have in common, by the name that the page gives them."""


def operators_page() -> str:
    """The page of operators."""
    groups = [f"- *{group}*: {_names(keys)}\n" for group, keys in OPERATOR_KEYS.items()]
    rows = [
        f"| `{one.name}` | {_cell(one.about)}{' (apart)' if one.helps else ''} | {_operator_keys(one.fields)} |\n"
        for one in EVERY_OPERATOR
    ]
    return "".join([OPERATORS_HEAD, *groups, OPERATORS_TABLE, *rows])


def _operator_keys(fields: Sequence[str]) -> str:
    """The keys of a row, with those of a group under its name where all of them are there."""
    groups = {group: keys for group, keys in OPERATOR_KEYS.items() if set(keys) <= set(fields)}
    single = [field for field in fields if not any(field in keys for keys in groups.values())]
    return ", ".join([*(f"*{group}*" for group in groups), *(f"`{name}`" for name in single)]) or "`rules`"


def _names(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def words_page() -> str:
    """The page of word lists."""
    return WORDS_HEAD + "".join(map(_word_list, published_lists().values()))


def _word_list(one: WordList) -> str:
    fixed = "" if one.replaceable else " No suite replaces it: it is read when no suite is known."
    are_words = not one.replaceable and not any(" " in entry for entry in one.entries)
    entries = textwrap.fill(" ".join(one.entries), 110, break_on_hyphens=False) if are_words else "\n".join(one.entries)
    return f"\n## {one.name}\n\n{one.about}{fixed}\n\n```text\n{entries}\n```\n"


def page() -> str:
    """The whole page."""
    made = find_format("eval-set", CATALOG.formats).schema(CATALOG)
    return (
        HEAD
        + "".join(_group(group, made) for group in Group)
        + REST
        + "".join(_rest(made))
        + MATCHERS
        + "".join(_matchers())
    )


def _group(group: Group, made: dict[str, Any]) -> str:
    weight = DEFAULT_WEIGHTS.get(group)
    counts = (
        f"Weight {weight:.2f} unless the case gives weights." if weight else "Weight 0 unless the case gives weights."
    )
    rows = [
        f"| `{field.name}` | {_value(made, field.name)} | {field.since} | {_cell(field.doc)} |\n"
        for check in CATALOG.classes.values()
        if check.group is group
        for field in check.fields
    ]
    return f"\n## {group.value}\n\n{counts}\n{TABLE}{''.join(rows)}" if rows else ""


def _rest(made: dict[str, Any]) -> Iterator[str]:
    """A row for each key that no check declares, and for each key within it; golden sets know one more."""
    checks = {*CATALOG.fields}
    golden = find_format("golden", CATALOG.formats).schema(CATALOG)["$defs"]["Expected"]["properties"]
    for name, node in {**made["$defs"]["Expected"]["properties"], "constraints": golden["constraints"]}.items():
        if name not in checks:
            yield from _rows(name, node, made["$defs"])


def _rows(name: str, node: dict[str, Any], known: dict[str, Any]) -> Iterator[str]:
    if name.endswith("metadata"):
        return
    whole = {**known[node["$ref"].rpartition("/")[2]], **node} if "$ref" in node else node
    yield f"| `{name}` | {_cell(_kind(node, known))} | {_cell(whole['description'])} |\n"
    for key, inner in whole.get("properties", {}).items():
        yield from _rows(f"{name}.{key}", inner, known)


def _matchers() -> Iterator[str]:
    return (f"| `{name}` | {_cell(key.about)} |\n" for name, key in DOLLAR_KEYS.items())


def _value(made: dict[str, Any], name: str) -> str:
    return _cell(_kind(made["$defs"]["Expected"]["properties"][name], made["$defs"]))


def _kind(node: dict[str, Any], known: dict[str, Any]) -> str:
    """What a schema allows, in a few words."""
    if node.get("$ref") == f"#/$defs/{MATCHER}":
        return "a value or matcher"
    if "$ref" in node:
        return _kind(known[node["$ref"].rpartition("/")[2]], known)
    if "const" in node:
        return f"`{str(node['const']).lower()}`"
    if "enum" in node:
        return " or ".join(f"`{value}`" for value in node["enum"])
    if "anyOf" in node:
        return " or ".join(dict.fromkeys(_kind(choice, known) for choice in node["anyOf"]))
    if node.get("type") == "array":
        return f"a list of {_plural(_kind(node.get('items', {}), known))}"
    if "properties" in node:
        return f"an object of {', '.join(f'`{key}`' for key in node['properties'] if key != 'metadata')}"
    if node.get("type") == "object":
        return f"an object of {_plural(_kind(node.get('additionalProperties') or {}, known))}"
    return WORDS.get(node.get("type", ""), "any value")


def with_options(page: str) -> str:
    """The page of running with the table of the options whose keyword has another name."""
    before, _, rest = page.partition(OPTIONS_BEGIN)
    rows = "".join(_option(option) for option in (*SELECTION.values(), *HOW_TO_RUN.values()) if option.flags)
    return before + OPTIONS_BEGIN + OPTIONS + rows + OPTIONS_END + rest.partition(OPTIONS_END)[2]


def _option(option: Option) -> str:
    flags = ", ".join(f"`{flag}`" for flag in option.spellings)
    return f"| {flags} | `{option.name}` |\n"


def _plural(kind: str) -> str:
    """The same for several of them."""
    many = (part.replace("an object of", "objects of").replace("a list of", "lists of") for part in kind.split(" or "))
    return " or ".join(MANY.get(part, part) for part in many)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    Path(__file__).with_name("checks.md").write_text(page())
    running = Path(__file__).with_name("running.md")
    running.write_text(with_options(running.read_text()))
    Path(__file__).with_name("words.md").write_text(words_page())
    Path(__file__).with_name("audit-operators.md").write_text(operators_page())
