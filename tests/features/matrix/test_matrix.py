"""Runs side by side: what is compared and what is only shown, what varies, and what pages show of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import carob
from carob.engine.columns import plan_columns
from carob.features.matrix.model import Matrix, RowKind
from carob.features.matrix.report import matrix_html, matrix_json, matrix_markdown
from carob.features.matrix.terminal import matrix_lines
from carob.targets.config import Config, TargetConfig
from cli.support import Carob, write
from features.compare.runs import journal, many

AGENT = """\
import os

MODEL = os.environ.get("MODEL", "none")


def ask(prompt):
    if MODEL == "small" and prompt == "refund":
        return "I cannot."
    call = {"name": "look_up", "arguments": {"by": MODEL}, "success": True}
    return {"final_message": f"{MODEL} says yes", "tool_calls": [call]}
"""
SUITE = json.dumps(
    {
        "carob": 1,
        "name": "Order desk",
        "cases": [
            {"id": name, "category": category, "prompt": name, "expected": {"must_say_any": ["yes"]}}
            for name, category in (("late", "orders"), ("refund", "money"), ("charge", "money"))
        ],
    }
)
CONFIG = Config(targets={name: TargetConfig(kind="python", spec="json:loads") for name in "ab"})
HOSTILE = "<script>alert(1)</script>\x1b[31m | `x` \u202e"


def read(tmp_path: Path, *runs: dict[str, str]) -> Matrix:
    return carob.matrix([journal(tmp_path, f"run{number}", run) for number, run in enumerate(runs)])


@pytest.mark.parametrize(
    ("targets", "assignments", "labels"),
    [
        ([], [], [""]),
        (["a"], [], ["a"]),
        (["a", "b"], [], ["a", "b"]),
        ([], ["MODEL=x, y"], ["MODEL=x", "MODEL=y"]),
        (["a", "b"], ["MODEL=x,y"], ["a MODEL=x", "a MODEL=y", "b MODEL=x", "b MODEL=y"]),
        (["a"], ["M=x,y", "t=0,1"], ["a M=x t=0", "a M=x t=1", "a M=y t=0", "a M=y t=1"]),
        (["a"], ["URL=http://x?a=b,c"], ["a URL=http://x?a=b", "a URL=c"]),
    ],
)
def test_a_column_for_each_target_and_each_combination(
    targets: list[str], assignments: list[str], labels: list[str]
) -> None:
    assert [column.label for column in plan_columns(targets, assignments, CONFIG)] == labels


@pytest.mark.parametrize(
    ("assignments", "says"),
    [
        (["MODEL"], "'MODEL' is not KEY=A,B. Write it as --matrix MODEL=small,large"),
        (["=x"], "'=x' is not KEY=A,B."),
        (["MODEL= , "], "is not KEY=A,B."),
        (["M=1", "M=2"], "a key of the matrix is given twice. Give all of its values at once."),
        ([f"M={','.join(map(str, range(21)))}"], "the matrix has 21 columns, and at most 20 fit side by side."),
    ],
)
def test_what_is_no_matrix_is_refused(assignments: list[str], says: str) -> None:
    with pytest.raises(carob.UsageError) as raised:
        plan_columns(["a"], assignments, CONFIG)
    assert says in str(raised.value)


def test_rows_say_how_far_the_runs_agree(tmp_path: Path) -> None:
    matrix = read(tmp_path, {"x-a": "pp", "x-b": "pp", "x-c": "pp"}, {"x-a": "pp", "x-b": "ff", "x-c": "pf"})
    assert {row.id: row.kind for row in matrix.rows} == {
        "x-a": RowKind.SAME, "x-b": RowKind.OUTCOME, "x-c": RowKind.OUTCOME,
    }  # fmt: skip
    assert [row.id for row in matrix.rows] == ["x-b", "x-c", "x-a"], "what differs comes first"
    assert matrix.reference == 0
    against = matrix.columns[1].against
    assert against is not None
    assert against.cases == 3


def test_a_difference_is_sure_only_after_correction_for_the_number_of_columns(tmp_path: Path) -> None:
    alone = read(tmp_path / "alone", many(40), many(33, 7))
    together = read(tmp_path / "together", many(40), many(33, 7), *[many(40)] * 4)
    first, corrected = alone.columns[1].against, together.columns[1].against
    assert first is not None
    assert corrected is not None
    assert corrected.p == pytest.approx(min(1, 5 * first.p))
    assert (first.sure, corrected.sure) == ("worse", "")


def test_a_run_that_is_not_whole_is_shown_and_never_compared(tmp_path: Path) -> None:
    whole = journal(tmp_path, "a", many(6))
    cut = journal(tmp_path, "b", many(6))
    lines = cut.read_bytes().splitlines(keepends=True)
    cut.write_bytes(b"".join(lines[:4]))
    matrix = carob.matrix([cut, whole, whole])
    assert matrix.reference == 1
    assert (matrix.columns[0].against, bool(matrix.columns[0].trouble)) == (None, True)
    assert matrix.rows[-1].cells[0] is None
    assert all(row.kind is RowKind.SAME for row in matrix.rows)
    page = matrix_html(matrix).decode()
    assert "not whole, not compared" in page
    assert "not run" in page


def test_another_prompt_under_the_same_id_is_not_compared(tmp_path: Path) -> None:
    runs = [
        journal(tmp_path, "a", {"x": "p", "y": "p"}),
        journal(tmp_path, "b", {"x": "f", "y": "p"}, x={"setup_prompts": ["first"]}),
    ]
    matrix = carob.matrix(runs)
    row = next(row for row in matrix.rows if row.id == "x")
    assert row.kind is RowKind.SAME
    assert row.cells[1] is not None
    assert row.cells[1].asks_otherwise
    assert matrix.columns[1].against is not None
    assert matrix.columns[1].against.cases == 1
    assert "the suite was not the same" in matrix.notes[0]


def test_runs_without_a_common_case_and_a_single_run_are_refused(tmp_path: Path) -> None:
    a, b = journal(tmp_path, "a", {"x": "p"}), journal(tmp_path, "b", {"y": "p"})
    with pytest.raises(carob.UsageError, match="the runs have no case in common"):
        carob.matrix([a, b])
    with pytest.raises(carob.UsageError, match="a matrix has several runs, not 1"):
        carob.matrix([a])


def test_nothing_that_an_agent_said_steers_a_report(tmp_path: Path) -> None:
    suite = {"carob": 1, "cases": [{"id": "<b>a|", "prompt": "x", "expected": {"must_say_any": ["<i>"]}}]}
    paths = [
        carob.run(suite, answer, results_dir=tmp_path / name).journal.path
        for name, answer in (("a", lambda _: HOSTILE), ("b", lambda _: f"other {HOSTILE}"))
    ]
    matrix = carob.matrix(paths)
    page, words = matrix_html(matrix).decode(), matrix_markdown(matrix).decode()
    assert "<script" not in page
    assert "<b>a" not in page
    assert "<i>" not in page
    assert "default-src &#39;none&#39;; style-src &#39;sha256-" in page
    assert "<script" not in words
    for text in (page, words, "\n".join(matrix_lines(matrix))):
        assert not re.search("[\x1b\u202e]", text)


@pytest.mark.usefixtures("project")
def test_a_matrix_runs_every_column_and_writes_one_page(carob_run: Carob) -> None:
    ran = carob_run("run", "suite.json", "-t", "python:agent:ask", "--matrix", "MODEL=large,small")
    assert ran.code == 1
    assert "2 runs of suite.json, 3 cases: 1 comes out differently, 2 alike" in ran.out
    assert re.search(r"^  refund  PASS  FAIL$", ran.out, re.MULTILINE)
    (page,) = Path("carob-results").glob("suite-matrix-*.html")
    html = page.read_text("utf-8")
    for text in ("Order desk", "MODEL=large", "MODEL=small", "large says yes", "I cannot.", "1 of 2 passed"):
        assert text in html
    assert "sha256:" not in html
    journals = sorted(map(str, Path("carob-results").glob("*.jsonl")), key=lambda name: Path(name).stat().st_mtime_ns)
    again = json.loads(carob_run("compare", "--side-by-side", *journals, "--format", "json").out)
    assert [column["label"] for column in again["columns"]] == ["MODEL=large", "MODEL=small"]
    compared = carob_run("compare", *journals)
    assert compared.out.startswith("the runs differ in env.MODEL: large → small\n")


@pytest.mark.usefixtures("project")
def test_a_column_is_resumed_with_what_was_set_for_it(carob_run: Carob) -> None:
    assert carob_run("run", "suite.json", "-t", "python:agent:ask", "--matrix", "MODEL=small").code == 1
    (path,) = Path("carob-results").glob("*.jsonl")
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    assert carob_run("run", "--resume", str(path)).code == 1
    resumed = max(Path("carob-results").glob("*.jsonl"), key=lambda file: file.stat().st_mtime_ns)
    answers = [json.loads(line)["trace"]["final_message"] for line in resumed.read_text().splitlines()[1:-1]]
    assert answers == ["small says yes", "I cannot.", "small says yes"]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("matrix", "says"),
    [
        ("OPENAI_API_KEY=a,b", "'OPENAI_API_KEY' looks like a secret, and pages show the values of a matrix."),
        ("temperature=0,1", "temperature"),
    ],
)
def test_a_column_that_cannot_be_is_refused_before_anything_runs(carob_run: Carob, matrix: str, says: str) -> None:
    ran = carob_run("run", "suite.json", "-t", "python:agent:ask", "--matrix", matrix)
    assert (ran.code, says in ran.err) == (4, True), ran.err
    assert not list(Path().glob("carob-results/*.jsonl"))


@pytest.mark.usefixtures("project")
def test_every_target_is_known_before_the_first_one_runs(carob_run: Carob) -> None:
    ran = carob_run("run", "suite.json", "-t", "python:agent:ask", "-t", "stagign")
    assert ran.code == 4
    assert not list(Path().glob("carob-results/*.jsonl"))


@pytest.mark.usefixtures("project")
def test_enough_failures_end_one_column_and_not_the_others(carob_run: Carob) -> None:
    ran = carob_run("run", "suite.json", "-t", "python:agent:ask", "--matrix", "MODEL=small,large", "-q",
                    "--max-failures", "1")  # fmt: skip
    assert ran.code == 1
    assert "not compared" in ran.out
    assert "3 passed" in ran.out


def test_json_holds_everything(tmp_path: Path) -> None:
    document = json.loads(matrix_json(read(tmp_path, many(3), many(2, 1))))
    assert document["headline"].startswith("2 runs of ")
    assert len(document["rows"]) == 3
    assert document["columns"][1]["against"]["cases"] == 3


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("agent.py", AGENT)
    write("suite.json", SUITE)


@pytest.fixture
def carob_run(carob_line: Carob) -> Carob:
    return carob_line
