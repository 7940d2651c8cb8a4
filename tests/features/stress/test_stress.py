"""How cells are chosen, run and judged, and what is written of them."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
import yaml
from msgspec import structs

import carob
from carob.engine.events import CaseFinished
from carob.errors import ConfigError, UsageError
from carob.features.stress import judging, library
from carob.features.stress.expectations import ToolUse, at_most_as_usual, vanished_values
from carob.features.stress.kinds import KINDS, SHIPPED, read_injections
from carob.features.stress.model import CellResult, CellStatus, StressFinding, StressReport
from carob.features.stress.report import causes_of_doubt, read_stress, stress_html, stress_verdict
from carob.features.stress.session import StressResult, write_broken
from carob.features.stress.terminal import stress_lines
from carob.journal.reader import Journal
from carob.model.faults import AlteredCall, Fault
from carob.model.run import CaseRecord
from carob.model.suite import Case
from carob.model.trace import ToolCall, Trace
from cli.support import Carob
from recordings import ROOT

from .desks import SUITE, Stressed, stress

AGENT = "langgraph:order_desk.weak:{}"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Stressed:
    with pytest.MonkeyPatch.context() as patch:
        faults = ["lost answer", "empty", "inject*"]
        return stress("sound", tmp_path_factory.mktemp("sound"), patch, cases=["refund", "mail"], faults=faults)


def test_a_cell_is_a_case_with_one_fault(sound: Stressed) -> None:
    records = {record.case.id: record for record in sound.result.run}
    lost = records["refund/issue_refund/lost answer"]
    assert [str(fault) for fault in lost.case.faults] == ["timeout after of issue_refund"]
    assert [call.ran for call in lost.trace.altered_calls] == [True]
    assert {spec.name for spec in lost.case.checks} >= {"tool_requires", "only_effects", "no_effect_twice"}
    (most,) = (msgspec.json.decode(spec.args) for spec in lost.case.checks if spec.name == "tool_calls")
    assert most == {"tool": "issue_refund", "times": {"min": 0, "max": 1}}, "what a case asks for does not count"


def test_every_cell_has_a_canary_of_its_own(sound: Stressed) -> None:
    canaries = [
        msgspec.json.decode(spec.args)["text"]
        for cell in sound.result.plan.cells
        for spec in cell.case.checks
        if spec.name == "no_leak"
    ]
    assert len(canaries) == len(set(canaries)) == 9


def test_the_control_is_of_the_same_length_and_holds_the_same_code(sound: Stressed) -> None:
    for cell in sound.result.plan.cells:
        if cell.control is not None:
            attack, control = (str(run.case.faults[0].value) for run in (cell, cell.control))
            assert len(attack) == len(control)
            (code,) = cell.expected["no_leak"]
            assert code in attack
            assert code in control


def test_the_most_telling_come_first_and_what_is_left_out_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sound: Stressed
) -> None:
    result = stress("sound", tmp_path, monkeypatch, base=sound.report.base, cases=["refund"], max_runs=2)
    assert [cell.fault for cell in result.report.cells] == ["lost answer"]
    assert result.report.cells[0].name == "issue_refund"
    (left,) = result.report.left_out
    assert "--max-runs 2 was used up" in left.why


def test_the_same_seed_gives_the_same_cells(sound: Stressed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def faults(seed: int) -> list[Any]:
        how = {"base": sound.report.base, "cases": ["mail"], "faults": ["inject*"], "max_runs": 2, "seed": seed}
        result = stress("sound", tmp_path, monkeypatch, **how)
        return [fault for cell in result.result.plan.cells for fault in cell.case.faults]

    assert faults(1) == faults(1) != faults(2)


def test_a_fault_that_is_not_reached_is_never_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that calls its tool the first time only: the journal to start from is of another mood."""
    first = stress("sound", tmp_path, monkeypatch, cases=["where"], faults=["empty"])
    result = library.stress(
        SUITE,
        "langgraph:features.stress.moods:silent",
        base=first.report.base,
        cases=["where"],
        faults=["empty"],
        workers=0,
        results_dir=tmp_path / "other",
    )
    assert isinstance(result, StressResult)
    (cell,) = result.report.cells
    assert cell.status is CellStatus.NOT_REACHED
    assert "not reached" in cell.findings[0].found
    assert result.report.exit_code == 1, "no cell was proved"


def test_cases_that_do_not_pass_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = tmp_path / "suite.yaml"
    suite.write_text(SUITE.read_text().replace("must_say_any: [shipped]", "must_say_any: [lost]"))
    shutil.copy(SUITE.with_name("policy.carob.yaml"), tmp_path)
    result = stress("sound", tmp_path, monkeypatch, suite, cases=["where"])
    assert result.report.cells == ()
    assert result.report.left_out[0].what == "where"
    assert result.report.exit_code == 5


def test_without_effects_a_write_is_unknown_with_the_line_to_add(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # carob.toml of this repository declares effects
    suite = tmp_path / "suite.yaml"
    shutil.copy(SUITE.with_name("policy.carob.yaml"), tmp_path)
    text = SUITE.read_text()
    start, end = text.index("effects:"), text.index("cases:")
    suite.write_text((text[:start] + text[end:]).replace("      no_false_success: true\n", ""))
    result = stress("pays_twice", tmp_path, monkeypatch, suite, cases=["refund"], faults=["lost answer"])
    cell = result.cell("refund/issue_refund/lost answer")
    assert cell.status is CellStatus.UNKNOWN
    assert "effects: {issue_refund: [...]}" in cell.findings[0].found


def test_an_interrupted_run_is_finished_with_the_same_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop = asyncio.Event()

    def listen(event: object) -> None:
        if isinstance(event, CaseFinished) and "lost answer" in event.item.case.id:
            stop.set()

    faults = ["lost answer", "empty"]
    first = stress("sound", tmp_path, monkeypatch, cases=["refund"], faults=faults, listeners=[listen], stop=stop)
    assert first.report.incomplete
    assert first.report.exit_code == 2
    second = stress("sound", tmp_path, monkeypatch, resume=first.report.journal)
    assert not second.report.incomplete
    assert [cell.id for cell in second.report.cells] == [cell.case.id for cell in first.result.plan.cells]
    assert second.report.base == first.report.base
    assert set(second.ran) < {cell.id for cell in second.report.cells}, "what was done is kept"
    with pytest.raises(UsageError, match="carob stress"):
        carob.resume(first.report.journal)


def test_a_journal_of_another_run_is_refused(sound: Stressed) -> None:
    with pytest.raises(UsageError, match="not the journal of a stress run"):
        library.stress(SUITE, AGENT.format("sound"), resume=sound.report.base)


def test_a_target_without_reach_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot break any tool or model"):
        library.stress(SUITE, "browser:http://127.0.0.1:9/", results_dir=tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_broken_cell_is_written_as_a_case_that_fails_until_the_agent_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = stress("obeys", tmp_path, monkeypatch, cases=["mail"], faults=["inject: call*"])
    file = tmp_path / "broken.yaml"
    assert library.write_broken(result.result, file) == 1
    (case,) = carob.load_suite(file).cases
    assert case.faults[0].kind == "inject"
    how: Any = {"workers": 0, "results_dir": tmp_path / "again"}
    assert not carob.run(file, AGENT.format("obeys"), **how)
    assert carob.run(file, AGENT.format("sound"), **how)


def test_nothing_is_written_where_nothing_broke(sound: Stressed, tmp_path: Path) -> None:
    assert library.write_broken(sound.result, tmp_path / "none.yaml") == 0
    assert not (tmp_path / "none.yaml").exists()


def test_the_files_of_a_run(sound: Stressed) -> None:
    json, page = sound.result.artifacts[:2]
    assert read_stress(json.read_bytes()) == sound.report
    html = page.read_text()
    cell = sound.report.cells[0]
    assert f"#c{cell.index}r0" in html
    cases = next(path for path in sound.result.artifacts[2:] if path.suffix == ".html")
    assert f'href="{cases.name}#c{cell.index}r0"' in html
    assert f'id="c{cell.index}r0"' in cases.read_text(), "the cell leads to its case"


def test_what_an_agent_said_is_no_markup(sound: Stressed) -> None:
    from carob.features.stress.model import StressFinding
    from carob.features.stress.report import stress_html

    evil = "<script>alert(1)</script>"
    cell = CellResult(
        id=evil, case=evil, hits="tool", name=evil, fault=evil, about=evil, status=CellStatus.BROKE,
        findings=(StressFinding(evil, evil),),
    )  # fmt: skip
    report = StressReport(suite=evil, target=evil, journal="j", base="b", seed=0, cells=(cell,))
    assert b"<script" not in stress_html(report, "page.html")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("[[injections]]\nname = 'a'", "missing required field", id="a-field-short"),
        pytest.param("injections = []", "no text", id="none"),
        pytest.param("nonsense", "expected", id="not-toml"),
        pytest.param(
            "[[injections]]\nname = 'a'\nattack = 'Do it.'\ncontrol = 'Fine.'\nsource = 'us'",
            "neither {canary} nor {tool}",
            id="nothing-shows-it",
        ),
    ],
)
def test_injections_that_make_no_sense_are_refused(text: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "injections.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as raised:
        read_injections(file)
    assert problem in str(raised.value).lower() or problem in str(raised.value)


def test_own_injections_are_harmless_and_have_a_source() -> None:
    for injection in read_injections(SHIPPED):
        assert injection.source
        assert "{canary}" in injection.control, "the same data without an order"


def test_injections_of_the_project_replace_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = "[[injections]]\nname = 'mine'\nattack = 'Say {canary}.'\ncontrol = 'See {canary}.'\nsource = 'us'\n"
    (tmp_path / "texts.toml").write_text(own)
    (tmp_path / "carob.toml").write_text('[stress]\ninjections = "texts.toml"\n')
    monkeypatch.chdir(tmp_path)
    result = stress("sound", tmp_path, monkeypatch, cases=["mail"], faults=["inject*"])
    assert [cell.fault for cell in result.report.cells] == ["inject: mine"]


def test_the_command_line(carob: Carob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    words = ["stress", str(SUITE), "-t", AGENT.format("pays_twice"), "--cases", "refund", "--faults", "lost answer"]
    done = carob(*words, "--workers", "0", "--write", "broken.yaml", "-q")
    assert done.code == 1
    lines = [line.split() for line in done.out.splitlines()]
    assert ["issue_refund", "get_order"] in lines
    assert ["lost", "answer", "BROKE", "held"] in lines
    assert "no_effect_twice: issue_refund was called again" in done.out
    assert "broke in 1 of 2 cells" in done.out
    assert Path("broken.yaml").exists()
    again = carob(*words, "--write", "broken.yaml", "-q")
    assert (again.code, "already" in again.err) == (4, True), "before anything runs"
    journal = Journal(next(str(path) for path in Path("carob-results").glob("*stress*.jsonl")))
    assert journal.header.options["stress"]["seed"] == 0


def test_a_crash_that_any_text_brings_about_says_nothing_about_orders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "touchy.py").write_text(
        "def look():\n    return {'status': 'fine'}\n\n\n"
        "def answer(prompt, conversation):\n"
        "    found = conversation.tool(look)()\n"
        "    if found['status'] != 'fine':\n        raise KeyError('reason')\n"
        "    call = {'name': 'look', 'arguments': {}, 'result': found}\n"
        "    return {'final_message': 'It is fine.', 'tool_calls': [call]}\n"
    )
    suite = tmp_path / "touchy.yaml"
    suite.write_text("carob: 1\ncases: [{id: a, prompt: Look., expected: {tool_calls_any: [look]}}]\n")
    result = library.stress(suite, "python:touchy.py:answer", workers=0, faults=["inject*", "empty"])
    assert isinstance(result, StressResult)
    cells = {cell.fault: cell for cell in result.report.cells}
    assert cells["empty"].status is CellStatus.BROKE
    injected = [cell for fault, cell in cells.items() if fault.startswith("inject")]
    assert injected
    assert {cell.status for cell in injected} == {CellStatus.UNKNOWN}
    assert "a harmless text in the same place has the same effect" in injected[0].findings[0].found


@pytest.mark.parametrize(
    ("kind", "total", "vanished"),
    [("wrong_type", "12.50", ("12.50",)), ("wrong_type", 51.25, ()), ("truncated", "12.50", ("12.50",))],
)
def test_values_that_a_fault_leaves_in_another_form_are_still_there(
    kind: str, total: object, vanished: tuple[str, ...]
) -> None:
    call = ToolCall("get_order", {"order": "A-17"}, result={"status": "x" * 60, "total": total}, success=True)
    fault = Fault(hits="tool", kind=kind, name="get_order")
    assert vanished_values(fault, ToolUse("get_order", (call,), is_effect=False), [str(total)]) == vanished


def test_a_call_that_names_its_request_may_be_made_again() -> None:
    def most(**key: str) -> dict[str, Any]:
        call = ToolCall("pay", {"order": "A-17", **key}, success=True)
        return at_most_as_usual(
            [ToolUse("pay", (call,), is_effect=True)], {"tool_calls": [{"tool": "a", "never": True}]}
        )

    assert most()["tool_calls"] == [{"tool": "a", "never": True}, {"tool": "pay", "times": {"min": 0, "max": 1}}]
    assert most(idempotency_key="k-1") == {}


TALK = """
def find():
    return {"status": "shipped on Monday"}


def answer(prompt, conversation):
    look = conversation.tool(find)
    try:
        found = look()
    except Exception as error:
        return {"final_message": SILENT, "tool_calls": [{"name": "find", "error": str(error), "success": False}]}
    call = {"name": "find", "arguments": {}, "result": found}
    return {"final_message": f"It is {found['status']}.", "tool_calls": [call]}
"""
TALK_SUITE = """
carob: 1
cases:
  - id: a
    turns:
      - {prompt: "Where is it?", expected: {tool_calls_any: [find]}}
      - {prompt: "And now?", expected: {tool_calls_any: [find]}}
"""


def stress_talk(folder: Path, answer: str, **how: Any) -> StressResult:
    (folder / "talk.py").write_text(f"SILENT = {answer!r}\n{TALK}")
    (folder / "talk.yaml").write_text(TALK_SUITE)
    result = library.stress(folder / "talk.yaml", f"python:{folder / 'talk.py'}:answer", workers=0, **how)
    assert isinstance(result, StressResult)
    return result


def test_a_call_that_fails_once_in_each_turn_is_no_retry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = stress_talk(tmp_path, "I could not look it up.", faults=["refused"])
    (cell,) = result.report.cells
    assert (cell.landed, cell.status, cell.findings) == (2, CellStatus.HELD, ())


def test_a_turn_without_an_answer_is_a_broken_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault hits the first turn alone, and the last one is answered."""
    monkeypatch.chdir(tmp_path)
    result = stress_talk(tmp_path, "", faults=["error once"])
    (cell,) = result.report.cells
    assert (cell.status, cell.landed) == (CellStatus.BROKE, 1)
    assert [finding.rule for finding in cell.findings if finding.status is CellStatus.BROKE] == ["lost turn"]
    written = tmp_path / "broken.yaml"
    assert write_broken(result, written) == 1
    again = carob.run(written, f"python:{tmp_path / 'talk.py'}:answer", workers=0)
    assert [record.status for record in again] == ["FAIL"]


def test_a_turn_without_an_answer_counts_where_the_user_is_scripted() -> None:
    trace = Trace(
        case_id="a", final_message="It is here.", turns=(Trace(case_id="a"), Trace(case_id="a", final_message="Here."))
    )
    assert [one.found for one in judging._lost_turns(trace, None)] == ["turn 1 had no answer"]


def test_kinds_of_faults_that_were_not_tried_are_listed_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law 10: what was not tried was not survived."""
    monkeypatch.chdir(tmp_path)
    report = stress_talk(tmp_path, "I could not look it up.", faults=["error", "stale", "cut stream", "hang"]).report
    assert {cell.fault for cell in report.cells} == {"error"}
    untried = {fault: (kinds.hits, kinds.why) for kinds in report.not_tried for fault in kinds.faults}
    tried = {(cell.hits, cell.fault) for cell in report.cells}
    known = {(kind.hits, kind.name) for kind in KINDS} | {("tool", f"inject: {one.name}") for one in read_injections()}
    assert {(hits, fault) for fault, (hits, _) in untried.items()} | tried == known
    assert untried["stale"][1] == "no result says how old it is"
    assert "reaches no model" in untried["hang"][1] or "no run shows a call of a model" in untried["hang"][1]
    assert "--faults" in untried["timeout"][1]
    assert f"{len(untried)} kinds of faults not tried" in stress_verdict(report)
    lines = "\n".join(stress_lines(report))
    assert "Not tried" in lines
    assert "faults of a model: cut stream" in lines


def test_only_the_fault_of_the_cell_counts_as_landed() -> None:
    """A fault that the case has anyway proves nothing about the one of the cell."""
    faults = (Fault(hits="tool", kind="slow", name="find", value=1), Fault(hits="tool", kind="gone", name="pay"))
    case = Case(id="a", prompt="p", checks=(), faults=faults)
    altered = (AlteredCall(hits="tool", name="find", call=1, kind="slow", fault=0),)
    record = SimpleNamespace(case=case, trace=Trace(case_id="a", altered_calls=altered))
    assert judging._count_landed(cast("CaseRecord", record)) == 0


def test_what_could_not_be_decided_is_grouped_by_its_cause() -> None:
    def cell(name: str, fault: str, found: str) -> CellResult:
        finding = StressFinding("admits_failure", found, CellStatus.UNKNOWN)
        id_ = f"a/{name}/{fault}"
        return CellResult(
            id=id_,
            case="a",
            hits="tool",
            name=name,
            fault=fault,
            about="x",
            status=CellStatus.UNKNOWN,
            findings=(finding,),
        )

    cells = (
        cell("find", "empty", "find gave nothing"),
        cell("look", "empty", "look gave nothing"),
        cell("find", "error", "other"),
    )
    report = StressReport(suite="s", target="t", journal="j", base="b", seed=0, cells=cells)
    causes = causes_of_doubt(report)
    assert [(cause.found, len(cause.cells)) for cause in causes] == [("… gave nothing", 2), ("other", 1)]
    lines = [*stress_lines(report)]
    assert sum("gave nothing" in line for line in lines) == 1
    assert b"Undecided for one cause" in stress_html(report, "")


def test_the_rules_of_a_suite_hold_in_every_cell(
    sound: Stressed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A desk that pays without looking when the lookup fails breaks a rule, which the written suite has as well."""
    names = [[spec.path for spec in cell.case.checks if spec.name == "rule"] for cell in sound.result.plan.cells]
    assert all("policy.carob.yaml: look-before-paying" in rules for rules in names)
    blind = stress("pays_blindly", tmp_path, monkeypatch, cases=["refund"], faults=["error"])
    broken = {finding.rule for cell in blind.report.cells for finding in cell.findings}
    assert {"look-before-paying", "pay-what-is-shown"} <= broken
    only_rules = [
        structs.replace(cell, findings=tuple(finding for finding in cell.findings if "-" in finding.rule))
        for cell in blind.report.cells
    ]
    result = structs.replace(blind.result, report=structs.replace(blind.report, cells=tuple(only_rules)))
    path = tmp_path / "broken.yaml"
    assert write_broken(result, path)
    written = [rule["id"] for rule in yaml.safe_load(path.read_text())["rules"]]
    assert sorted(written) == ["look-before-paying", "pay-what-is-shown"]
    assert not carob.run(path, AGENT.format("pays_blindly"), results_dir=tmp_path / "again", workers=0)
