"""YAML with the same fields, read as JSON would be."""

from __future__ import annotations

import pytest
import yaml

from carob.suites import loads
from carob.suites.documents import yaml as yaml_document
from catalogs import CATALOG
from suites.support import lines

SUITE = """\
# a comment
version: "0.2"
cases:
  - &first
    id: A
    category: 12:30
    prompt: no
    expected:
      must_say_any: [on, off, 007, 1_000, 0x1F, ~, .5, +1, True]
      must_not_say: ["12", '1.5']
      must_ground_numbers: [12, 1.5, -3, 1e2]
    x-blank:
  - id: B
    prompt: |
      two
      lines
    expected: {outcome: response_only}
    x-same: *first
"""


@pytest.fixture(params=["libyaml", "python"], autouse=True)
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both parsers that PyYAML may come with."""
    if request.param == "libyaml" and not yaml.__with_libyaml__:
        pytest.skip("PyYAML was built without libyaml")
    monkeypatch.setattr(yaml_document, "_LOADER", yaml.CLoader if request.param == "libyaml" else yaml.Loader)


@pytest.mark.parametrize("name", ["s.yaml", "s.YML"])
def test_plain_words_stay_strings(name: str) -> None:
    first, second = loads(SUITE.encode(), name, CATALOG).cases
    assert (first.prompt, first.category, second.prompt) == ("no", "12:30", "two\nlines\n")
    assert first.metadata == {"x-blank": None}
    assert second.metadata["x-same"]["expected"] == {
        "must_say_any": ["on", "off", "007", "1_000", "0x1F", "~", ".5", "+1", "True"],
        "must_not_say": ["12", "1.5"],
        "must_ground_numbers": [12, 1.5, -3, 100.0],
    }


def nested_aliases() -> str:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    return "\n".join([*rows, "cases: []"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "version: 0.3\ncases:\n  - id: 12\n    prompt: é\n    expected: {é: 1, must_not_say: {}}\n",
            [
                's.yaml:1:10 version: expected 0.1, 0.2 or 0.3 as a string, found a number. Did you mean "0.3"? '
                "[wrong-type]",
                's.yaml:3:9 cases[0].id: expected a string, found a number. Put it in quotes: "12". [wrong-type]',
                "s.yaml:5:16 cases[0].expected.é: unknown field. Start its name with 'x-' to keep it as a note. "
                "[unknown-field]",
                "s.yaml:5:36 cases[0].expected.must_not_say: expected a list, found an object."
                " Write [ ] around it, or '- ' before each. [wrong-type]",
            ],
            id="wrong-fields",
        ),
        pytest.param(
            'version: "0.3"\nversion: "0.2"\n'
            "cases:\n- {id: !!str A, id: B, prompt: p, expected: {must_say_any: [a]}}\n",
            [
                "s.yaml:2:1 version: duplicate key. Keep one. [duplicate-key]",
                "s.yaml:4:8 cases[0].id: the tag 'tag:yaml.org,2002:str' has no meaning here. "
                "Write the value without it. [yaml-tag]",
                "s.yaml:4:17 cases[0].id: duplicate key. Keep one. [duplicate-key]",
            ],
            id="duplicates-and-tags",
        ),
        pytest.param(
            'version: "0.3"\ncases:\n- &a {id: A, prompt: p, expected: {must_say: [a]}}\n- *a\n',
            [
                "s.yaml:3:36 cases[0].expected.must_say: unknown field. Did you mean 'must_say_any'? [unknown-field]",
                "s.yaml:4:3 cases[1].expected.must_say: unknown field. Did you mean 'must_say_any'? [unknown-field]",
                "s.yaml:4:3 cases[1].id: cases[0] already has the id 'A'. Give each case its own. [duplicate-id]",
            ],
            id="problems-behind-an-alias",
        ),
        pytest.param(
            "# nothing\n",
            ["s.yaml:1:1: the file is empty. `carob init` writes a first suite. [empty-file]"],
            id="only-a-comment",
        ),
        pytest.param(
            "--- []\n--- []\n",
            ["s.yaml:2:1: a second document starts here. Put one suite in a file. [not-yaml]"],
            id="two-documents",
        ),
        pytest.param(
            "? [a]\n: b\n",
            ["s.yaml:1:3: a key must be a plain string. Quote it, or write it out. [wrong-type]"],
            id="key",
        ),
        pytest.param(
            "- *a\n",
            [
                "s.yaml:1:3 [0]: the alias '*a' names no anchor above it."
                " Put a text that begins with * in quotes. [yaml-alias]"
            ],
            id="no-anchor",
        ),
        pytest.param(
            "- &a [*a]\n",
            ["s.yaml:1:7 [0][0]: the alias '*a' is inside the value that it names. Write the value out. [yaml-alias]"],
            id="loop",
        ),
        pytest.param(
            nested_aliases(),
            ["s.yaml:6:25 a5[3]: the aliases of this file expand to too much. Write the values out. [yaml-alias]"],
            id="billion-laughs",
        ),
        pytest.param("[" * 5000, ["s.yaml:1:192: nested too deeply: more than 190 levels. [too-deep]"], id="bomb"),
        pytest.param(
            "a: b\nc: \x01\n", ["s.yaml:2:4: not YAML: the character U+0001 is not allowed in it. [not-yaml]"], id="c0"
        ),
        pytest.param(
            "- 99999999999999999999\n- 1e999\n- " + "9" * 5000,
            [
                line
                for n in range(3)
                for line in (
                    f"s.yaml:{n + 1}:3 [{n}]: the number does not fit in 64 bits. Write it as a string. [out-of-range]",
                    f"s.yaml:{n + 1}:3 [{n}]: expected an object, found a number. [wrong-type]",
                )
            ],
            id="numbers-that-no-journal-holds",
        ),
    ],
)
def test_bad_yaml(text: str, expected: list[str]) -> None:
    assert sorted(lines(text, "s.yaml")) == sorted(expected)


@pytest.mark.parametrize("text", ["cases: [\n  {id: a\n", "a: b: c\n", "\tcases: []\n", 'a: "\\ud800"\n', "a: 'b\n"])
def test_what_is_not_yaml_is_one_line_within_the_file(text: str) -> None:
    (line,) = lines(text, "s.yaml")
    assert line.endswith(("[not-yaml]", "[lone-surrogate]"))
    row, column = _place(line)
    assert 1 <= row <= text.count("\n") + 1
    assert 1 <= column <= max(map(len, text.split("\n"))) + 1


def _place(line: str) -> tuple[int, int]:
    row, column = line.split(" ")[0].rstrip(":").split(":")[1:]
    return int(row), int(column)


def test_aliases_deeper_than_a_file_may_go() -> None:
    deep = "- &a0 " + "[" * 100 + "]" * 100 + "\n- &a1 " + "[" * 100 + "*a0" + "]" * 100 + "\n"
    (line,) = lines(deep, "s.yaml")
    assert "expand to too much" in line


def test_a_value_used_twice_keeps_its_notes_both_times() -> None:
    text = (
        'version: "0.3"\ncases:\n'
        "- {id: A, prompt: p, expected: &same {must_say_any: [a], x-why: because}}\n"
        "- {id: B, prompt: p, expected: *same}\n"
    )
    cases = loads(text.encode(), "s.yaml", CATALOG).cases
    assert [case.metadata for case in cases] == [{"expected.x-why": "because"}] * 2
