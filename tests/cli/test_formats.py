"""Suite formats of a project's own, named in carob.toml: the same class as those of packages and ours."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cli.support import Carob, case, eval_set, journal_of, write

PLUGIN = Path(__file__).parents[2] / "examples" / "feature_package" / "carob_manners"

FORMATS = """\
from carob import Format, ParsedSuite, SuiteBuilder, SuiteCatalog, SuiteFile, TextPlaces


class Lines(Format):
    '''A prompt a line, and after => the words of the answer; ! before them: not these. `@` names the target.'''

    name = "lines"
    description = "a .lines file (lines)"

    def recognizes(self, file):
        return file.name.endswith(".lines")

    def read(self, file, catalog):
        document = TextPlaces()
        suite = SuiteBuilder(file, catalog, document)
        target = ""
        for number, line in enumerate(file.text.splitlines(), 1):
            if line.startswith("@"):
                target = line[1:]
                continue
            if line.startswith("<"):
                line = file.read_other(line[1:], ("lines", number)).decode().strip()
            prompt, arrow, words = line.partition(" => ")
            path, at = ("lines", number), ("lines", number, "words")
            document.places[path] = (number, 1)
            document.places[at] = (number, len(prompt + arrow) + 1)
            case = suite.case(f"line-{number}", prompt, path)
            if words.startswith("{"):
                import json
                case.expect(json.loads(words), at)
            elif words.startswith("?"):
                name, _, args = words[1:].partition(" ")
                case.check(name, dict(part.split("=") for part in args.split()), at)
            elif words:
                case.check("must_say_any", {"phrases": [words.lstrip("!")]}, at, negated=words.startswith("!"))
        return suite.build("2", target=target)


class Greedy(Lines):
    name = "greedy"


class Raises(Lines):
    name = "raises"

    def read(self, file, catalog):
        return self.nothing


class Guesses(Lines):
    name = "guesses"

    def recognizes(self, file):
        raise KeyError("carob")


class Quick(Lines):
    name = "quick"

    def rows(self, file):
        return [("quick", "", "listed without reading")]


class Unready(Format):
    name = "unready"


class Nameless(Lines):
    name = "no name"


class Stubborn(Lines):
    name = "stubborn"

    def __init__(self):
        raise RuntimeError("not today")


class Renames(Lines):
    name = "renames"

    def convert(self, file, suite, catalog):
        parts = super().convert(file, suite, catalog)
        return parts._replace(cases=[c._replace(value={**c.value, "prompt": "another"}) for c in parts.cases])


def function(): ...
"""
LINES = "Hi there. => Hello\nBye. => !cheerio\n"


def project(*names: str, **more: str) -> None:
    write("formats.py", FORMATS)
    lines = [f'{name} = "python:formats.py:{name.capitalize()}"' for name in names]
    lines += [f'{name} = "{spec}"' for name, spec in more.items()]
    write("carob.toml", "\n".join(("[formats]", *lines, "")))


def test_every_command_takes_a_format_of_the_project(carob: Carob) -> None:
    project("lines")
    suite = write("greet.lines", "@python:agent.py:greet\nHi there. => Hello\nBye. => !cheerio\n")
    assert carob("lint", "--errors-only", suite).out == "greet.lines: lines 2, 2 cases, 4 checks\n"
    assert carob("run", "--list", suite).out == "line-2\t\tHi there.\nline-3\t\tBye.\n"
    ran = carob("run", suite)
    assert ran.statuses == {"line-2": "PASS", "line-3": "PASS"}, ran
    assert carob("lint", suite).code == 0
    audit = carob("audit", str(journal_of()), "--min-kill", "0")
    assert "answer-emptied" in audit.out, audit
    assert json.loads(carob("lint", "--schema", "lines").out)["title"] == "lines"
    assert "carob: 1\ncases:\n  - id: line-2\n    prompt: Hi there.\n" in carob("convert", suite).out


def test_a_target_of_the_user_comes_before_that_of_the_suite(carob: Carob) -> None:
    project("lines")
    suite = write("greet.lines", "@python:agent.py:nothing_of_this_name\nHi there. => Hello\n")
    assert "nothing_of_this_name" in carob("run", suite).err
    assert carob("run", suite, "-t", "python:agent.py:greet").statuses == {"line-2": "PASS"}


def test_a_negated_check_fails_where_it_holds(carob: Carob) -> None:
    project("lines")
    ran = carob("run", write("a.lines", "Hi. => !Hello\n"), "-t", "python:agent.py:greet")
    assert ran.statuses == {"line-1": "FAIL"}
    assert "expected  not: 'Hello'" in ran.out


def test_lint_and_problems_tell_the_place_of_the_check(carob: Carob) -> None:
    project("lines")
    linted = carob("lint", write("a.lines", "Bye. => !x\nSay kettle. => kettle\n"))
    assert "a.lines:2:16 lines[2].words[0]: the prompt itself holds 'kettle'" in linted.out, linted
    wrong = write(
        "b.lines",
        "Hi. => ?must_sey_any a=b\nHo. => ?must_say_any phrase=b\nHu. => ?must_say_any phrases=b\nHa.\n"
        'He. => {"min_words": "x"}\n',
    )
    assert carob("lint", "--errors-only", wrong).err.splitlines() == [
        "b.lines:1:8 lines[1].words: no check is called 'must_sey_any'. Did you mean 'must_say_any'? [unknown-check]",
        "b.lines:2:8 lines[2].words: must_say_any has no argument 'phrase'. Did you mean 'phrases'? [unknown-argument]",
        "b.lines:3:8 lines[3].words: must_say_any: Expected `array`, got `str` - at `$.phrases`. [invalid-value]",
        "b.lines:4:1 lines[4]: the case checks nothing. Say what you expect. [no-checks]",
        "b.lines:5:8 lines[5].words.min_words: expected a whole number, found a string. [wrong-type]",
    ]


def test_another_file_belongs_to_the_suite(carob: Carob) -> None:
    project("lines")
    write("more.txt", "Hi. => Hello")
    suite = write("a.lines", "<more.txt\n")
    assert carob("run", suite, "-t", "python:agent.py:greet").statuses == {"line-1": "PASS"}
    first = json.loads(journal_of().read_text().splitlines()[0])["suite_sha256"]
    write("more.txt", "Hi. => Hello!")
    carob("run", suite, "-t", "python:agent.py:greet", "--results-dir", "second")
    assert json.loads(journal_of("second").read_text().splitlines()[0])["suite_sha256"] != first
    assert "[outside]" in carob("lint", "--errors-only", write("b.lines", "<../more.txt\n")).err
    assert "missing-file" in carob("lint", "--errors-only", write("c.lines", "<none.txt\n")).err


def test_a_quick_list_of_the_format_is_taken(carob: Carob) -> None:
    project("quick")
    assert carob("run", "--list", write("a.lines", "")).out == "quick\t\tlisted without reading\n"


def test_a_format_of_the_project_is_asked_before_ours(carob: Carob) -> None:
    suite = write("s.lines", json.dumps(eval_set(case())))
    assert carob("run", "--list", suite).out.startswith("A\t")
    project("quick")
    assert carob("run", "--list", suite).out.startswith("quick\t")


def test_two_formats_that_recognise_one_file_are_refused(carob: Carob) -> None:
    project("lines", "greedy")
    said = carob("lint", "--errors-only", write("a.lines", LINES)).err
    assert said == (
        "a.lines:1:1: the formats lines and greedy both recognise this file. "
        "Remove one of them, or narrow what it recognises. [ambiguous-format]\n"
    )


def test_a_document_of_no_format_names_those_there_are(carob: Carob) -> None:
    project("lines")
    said = carob("lint", "--errors-only", write("a.json", "{}")).err
    assert "an object with 'carob: 1' and 'cases' or 'rules' (Carob 1), an object with 'cases' (eval set), " in said
    assert "(golden QA) or a .lines file (lines). Files of bfcl, " in said


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param("raises", "a.lines: the format 'raises' failed: AttributeError: ", id="reading"),
        pytest.param("guesses", "a.lines: the format 'guesses' failed: KeyError: 'carob' at formats.py:", id="asking"),
        pytest.param("unready", "it has no method `recognizes` and `read`. Fix it", id="no-methods"),
        pytest.param("nameless", "it has no `name` of letters, digits, - and _.", id="no-name"),
        pytest.param("stubborn", "it cannot be created: RuntimeError: not today at formats.py:", id="not-created"),
        pytest.param("function", "formats.py has no 'Function'. Did you mean 'function'?", id="no-attribute"),
    ],
)
def test_a_broken_format_is_told_with_its_place(carob: Carob, name: str, said: str) -> None:
    project(name)
    ran = carob("lint", "--errors-only", write("a.lines", LINES))
    assert ran.code == 4
    assert said in ran.err
    assert ran.err.startswith(("carob: a.lines: ", f"carob: {Path('carob.toml').resolve()}:2: ")), ran.err


@pytest.mark.parametrize(
    ("name", "spec", "said"),
    [
        pytest.param("mine", "python:formats.py:Lines", "the format is called 'lines'. Write lines = ", id="name"),
        pytest.param("mine", "python:formats.py:function", "it is not a subclass of carob.Format.", id="function"),
        pytest.param("mine", "formats.py", "'formats.py' does not name any code.", id="no-code"),
    ],
)
def test_what_is_not_a_format_is_told_at_its_line(carob: Carob, name: str, spec: str, said: str) -> None:
    project(**{name: spec})
    ran = carob("lint", "--errors-only", write("a.lines", LINES))
    assert (ran.code, "carob.toml:2: " in ran.err) == (4, True), ran.err
    assert said in ran.err


def test_a_format_cannot_have_the_name_of_ours(carob: Carob) -> None:
    write("formats.py", FORMATS.replace('"greedy"', '"golden"'))
    write("carob.toml", '[formats]\ngolden = "python:formats.py:Greedy"\n')
    ran = carob("lint", "--errors-only", write("a.lines", LINES))
    assert "carob.toml:2: there is another format called 'golden'. Give it another name." in ran.err


def test_a_table_of_formats_holds_names_of_code(carob: Carob) -> None:
    write("carob.toml", "[formats]\nlines = 3\n")
    assert "carob.toml:2: the format is a number." in carob("lint", "--errors-only", write("a.lines", LINES)).err


def test_a_conversion_to_other_cases_is_refused(carob: Carob) -> None:
    project("renames")
    assert "the format 'renames' converts it to different cases." in carob("convert", write("a.lines", LINES)).err


def test_a_case_of_which_nothing_can_be_converted_is_skipped(carob: Carob) -> None:
    project("lines")
    made = carob("convert", write("a.lines", "Bye. => !cheerio\n")).out
    assert "# 1 expectation without an equivalent in Carob 1" in made
    assert '# No equivalent in Carob 1: not must_say_any {"phrases":["cheerio"]} (words).' in made
    assert "skip: nothing that it expects has an equivalent in Carob 1" in made


def test_an_unknown_name_is_told_for_a_schema(carob: Carob) -> None:
    project("lines")
    ran = carob("lint", "--schema", "linse")
    assert (ran.code, ran.err) == (
        4,
        "carob: no suite format is called 'linse'. Did you mean 'lines'? [unknown-format]\n",
    )


def test_the_format_of_the_example_package_in_one_file(carob: Carob) -> None:
    """Assertion lists, a negated rule and weights: scenes reach their share, or not."""
    shutil.copytree(PLUGIN, "carob_manners")
    write("carob.toml", '[formats]\nplaybook = "python:carob_manners.format:Playbook"\n[checks]\n'
          'max_exclamations = "python:carob_manners.check:MaxExclamations"\n')  # fmt: skip
    scene = (
        "playbook: p\nscenes:\n- scene: a\n  customer: Hi.\n  passes_at: {at}\n  agent:\n"
        "  - {{says: Hello, weight: 3}}\n  - {{says: sorry}}\n"
    )
    run = ("run", "p.yaml", "-t", "python:agent.py:greet")
    write("p.yaml", scene.format(at=0.75))
    assert carob(*run).statuses == {"a": "PARTIAL"}
    write("p.yaml", scene.format(at=0.76))
    assert carob(*run, "--results-dir", "second").statuses == {"a": "FAIL"}
    write("p.yaml", scene.format(at=2).replace("says: sorry", "sais: sorry"))
    assert carob("lint", "--errors-only", "p.yaml").err.splitlines() == [
        "p.yaml:5:14 scenes[0].passes_at: must be at most 1, found 2. [out-of-range]",
        "p.yaml:8:6 scenes[0].agent[1].sais: unknown field. Did you mean 'says'? [unknown-field]",
    ]
