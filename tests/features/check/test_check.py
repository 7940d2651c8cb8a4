"""`carob check`, as a user has it: figures of each rule, what is unknown, files, gates, exit codes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import pytest
from pyarrow import parquet

import carob
from carob.errors import CarobError, ExitCode
from carob.features.check.tally import name_cause
from carob.reports.html.case_view import command
from carob.rules.events import RuleOutcome
from cli.support import process
from features.check.conversations import conversation, day, write_lines, write_policy


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return write_policy(tmp_path)


def check(tmp_path: Path, conversations: list[dict[str, Any]], **options: Any) -> carob.CheckReport:
    source = write_lines(tmp_path / "export.jsonl", conversations)
    return carob.check_conversations(source, str(tmp_path / "policy.carob.yaml"), **options)


def figures(report: carob.CheckReport, rule: str) -> tuple[int, int, int]:
    [found] = [each.figures for each in report.rules if each.id == rule]
    return found.held, found.broken, found.unknown


def test_each_rule_is_counted_by_how_it_came_out(tmp_path: Path, policy: Path) -> None:
    conversations = [
        conversation("held"),
        conversation("broken", agreed=False),
        conversation("twice", calls=2),
        conversation("open", ended=False),
        conversation("idle", calls=0),
    ]
    report = check(tmp_path, conversations)
    assert figures(report, "explicit-yes") == (2, 1, 1)
    assert figures(report, "cancelled-once") == (2, 1, 1)
    assert figures(report, "nothing-after-a-handover") == (0, 0, 0)
    assert (report.clean, report.broken, report.unknown, report.untriggered) == (1, 2, 1, 1)
    assert report.exit_code == ExitCode.FAILED
    assert [rule.id for rule in report.tested] == ["explicit-yes", "cancelled-once"]


@pytest.mark.parametrize(
    ("conversations", "options", "code"),
    [
        ([conversation("a")], {}, ExitCode.OK),
        ([conversation("a", agreed=False)], {}, ExitCode.FAILED),
        ([conversation("a", ended=False)], {}, ExitCode.FAILED),
        ([conversation("a", ended=False)], {"allow_unknown": True}, ExitCode.OK),
        ([conversation("a", agreed=False)], {"allow_unknown": True}, ExitCode.FAILED),
        ([conversation("a", calls=0)], {}, ExitCode.NOTHING_SELECTED),
        ([conversation("a", calls=0)], {"max_broken": 0.5}, ExitCode.NOTHING_SELECTED),
        ([conversation("a")], {"max_broken": 0.1}, ExitCode.FAILED),  # undecided: one conversation says little
        ([conversation(str(n)) for n in range(300)], {"max_broken": 0.1}, ExitCode.OK),
        ([conversation(str(n), ended=n > 60) for n in range(300)], {"max_broken": 0.1}, ExitCode.FAILED),
        ([conversation(str(n), agreed=n > 60) for n in range(300)], {"max_broken": 0.1}, ExitCode.FAILED),
    ],
)
def test_exit_code(
    tmp_path: Path, policy: Path, conversations: list[dict[str, Any]], options: dict[str, Any], code: ExitCode
) -> None:
    assert check(tmp_path, conversations, **options).exit_code == code


def test_gate_says_whether_it_is_broken_or_undecided(tmp_path: Path, policy: Path) -> None:
    def side(conversations: list[dict[str, Any]], rule: str = "explicit-yes") -> str:
        [gate] = [each.gate for each in check(tmp_path, conversations, max_broken=0.1).rules if each.id == rule]
        return gate.side if gate is not None else "not tested"

    assert side([conversation(str(n)) for n in range(300)]) == "met"
    assert side([conversation(str(n), agreed=n % 2 > 0) for n in range(300)]) == "broken"
    assert side([conversation(str(n), agreed=n % 10 > 0) for n in range(300)]) == "undecided"
    # What is unknown could all be broken, or could all have held.
    assert side([conversation(str(n), ended=n % 2 > 0) for n in range(300)]) == "undecided"
    assert side([conversation("a")], "nothing-after-a-handover") == "not tested"


def test_unknown_is_grouped_by_cause_and_says_what_to_export(tmp_path: Path, policy: Path) -> None:
    report = check(tmp_path, [conversation(f"open-{n}", ended=False) for n in range(7)])
    [cause] = report.rules[0].causes
    assert (cause.conversations, cause.example) == (7, "open-0")
    assert "send spans of them" in cause.cause


@pytest.mark.parametrize(
    ("why", "cause"),
    [
        ('event 7: pay(id="A", n=(1)): no earlier find with id "A"', "no earlier find with id …"),
        ("event 12: pay() has no arguments.order", "has no arguments.order"),
        ("event 3: handoff billing: it is not known", "it is not known"),
        ("the line 17 was not read", "the line … was not read"),
        ("", "it is not known why"),
    ],
)
def test_causes_leave_out_the_event_and_its_values(why: str, cause: str) -> None:
    assert name_cause(why) == cause


def test_rules_narrowed_by_tags_and_metadata_look_at_those_of_the_conversation(tmp_path: Path, policy: Path) -> None:
    conversations = [
        conversation("vip", tags=["vip"], metadata={"plan": "pro"}),
        conversation("free", tags=["vip"], metadata={"plan": "free"}),
        conversation("other", metadata={"plan": "pro"}),
    ]
    assert figures(check(tmp_path, conversations), "vip-only") == (1, 0, 0)


def test_change_over_time_is_found_and_noise_is_not(tmp_path: Path, policy: Path) -> None:
    def make(share_after: int) -> list[dict[str, Any]]:
        return [
            conversation(f"{d}-{n}", agreed=n % 50 != 0 and (d < 5 or n % 50 >= share_after), created_at=day(d))
            for d in range(1, 9)
            for n in range(100)
        ]

    [change] = check(tmp_path, make(15), by="day").rules[0].changes
    assert change.group == "2026-11-05"
    assert change.difference.low > 0.1
    steady = check(tmp_path, make(1), by="day").rules[0]
    assert steady.changes == ()
    assert [group.name for group in steady.groups] == [f"2026-11-0{d}" for d in range(1, 9)]


@pytest.mark.parametrize("by", ["model", "version", "user"])
def test_group_that_differs_is_named(tmp_path: Path, policy: Path, by: Any) -> None:
    conversations = [
        conversation(str(n), agreed=n % 3 > 0 or n % 2 > 0, **{by: f"g-{n % 3}"}) for n in range(600)
    ]  # g-0 is broken in half of its conversations, the others never
    rule = check(tmp_path, conversations, by=by).rules[0]
    assert (rule.groups[0].name, rule.groups[0].figures.broken) == ("g-0", 100)
    assert rule.changes[0].group == "g-0"
    assert rule.changes[0].difference.low > 0.3


def test_week_is_named_by_its_monday_and_what_has_no_time_comes_last(tmp_path: Path, policy: Path) -> None:
    times = [day(1, 23), day(2), day(8), None, "1e300", 99999999999999]
    conversations = [conversation(str(n), **({"created_at": time} if time else {})) for n, time in enumerate(times)]
    groups = [group.name for group in check(tmp_path, conversations, by="week").rules[0].groups]
    assert groups[:2] == ["2026-10-26", "2026-11-02"]
    assert groups[-1] == "(not recorded)"


def test_conversations_of_one_user_say_less_than_those_of_many(tmp_path: Path, policy: Path) -> None:
    def width(users: int) -> float:
        conversations = [conversation(str(n), agreed=n % users >= users // 5, user=f"u{n % users}") for n in range(400)]
        share = check(tmp_path, conversations).rules[0].figures.share
        assert share is not None
        return share.high - share.low

    assert width(5) > 2 * width(400)


def test_selection_is_counted(tmp_path: Path, policy: Path) -> None:
    conversations = [conversation(str(n), created_at=day(n), metadata={"n": n}) for n in range(1, 11)]
    conversations.append(conversation("no-time"))
    report = check(tmp_path, conversations, since="2026-11-04", where="metadata.n > 5")
    assert report.judged == 5
    assert (report.selected.too_old, report.selected.no_time, report.selected.other) == (3, 1, 2)
    report = check(tmp_path, conversations, where="metadata.n > 5")
    assert (report.judged, report.selected.undecided) == (5, 1)
    assert "no-time" not in report.selected.why_undecided


def test_sample_is_the_same_in_any_order(tmp_path: Path, policy: Path) -> None:
    conversations = [conversation(str(n), agreed=n % 7 > 0) for n in range(200)]
    drawn = [check(tmp_path, each, sample=50) for each in (conversations, conversations[::-1])]
    assert [figures(report, "explicit-yes") for report in drawn] == [figures(drawn[0], "explicit-yes")] * 2
    assert (drawn[0].judged, drawn[0].selected.not_drawn) == (50, 150)


def test_workers_give_the_same_report(tmp_path: Path, policy: Path) -> None:
    conversations = [conversation(str(n), agreed=n % 9 > 0, ended=n % 5 > 0, user=f"u{n % 20}") for n in range(600)]
    reports = [check(tmp_path, conversations, workers=workers, by="user") for workers in (1, 3)]
    first, other = (json.loads(carob_json(report)) for report in reports)
    assert first == other


def carob_json(report: carob.CheckReport) -> bytes:
    from msgspec import structs

    from carob.features.check.report import check_json

    return check_json(structs.replace(report, seconds=0))


def test_first_and_worst_examples(tmp_path: Path, policy: Path) -> None:
    conversations = [
        conversation("late", agreed=False, created_at=day(9)),
        *(conversation(f"c{n}", agreed=False, created_at=day(5)) for n in range(5)),
        conversation("early", agreed=False, created_at=day(1)),
        conversation("often", agreed=False, calls=4, created_at=day(8)),
    ]
    rule = check(tmp_path, conversations).rules[0]
    assert [example.id for example in rule.first] == ["early", "c0", "c1"]
    assert [(example.id, example.findings) for example in rule.worst] == [("often", 4)]
    assert rule.first[0].source.endswith("export.jsonl:7")


def test_defaults_of_a_suite_are_judged(tmp_path: Path) -> None:
    suite = tmp_path / "suite.carob.yaml"
    suite.write_text(
        "carob: 1\ndefaults: { expected: { max_tool_calls: 1, must_not_say: [done] } }\n"
        "cases: [{ id: a, prompt: Hi., expected: { must_say_any: [hello] } }]\n"
    )
    source = write_lines(tmp_path / "export.jsonl", [conversation("one"), conversation("two", calls=2)])
    report = carob.check_conversations(source, suite=str(suite))
    by_name = {rule.id: rule.figures for rule in report.rules}
    assert "must_say_any[0]" not in by_name  # that is of one prompt
    assert (by_name["max_tool_calls"].held, by_name["max_tool_calls"].broken) == (1, 1)
    assert (by_name["must_not_say[0]"].held, by_name["must_not_say[0]"].broken) == (0, 2)


def test_claims_of_a_suite_are_those_of_its_defaults(tmp_path: Path) -> None:
    suite = {
        "carob": 1,
        "claims": {"done": {"words": ["all is done"], "run": "^make"}},
        "defaults": {"expected": {"claims": True}},
        "cases": [{"id": "a", "prompt": "Hi."}],
    }
    said = {
        "id": "one",
        "messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "All is done."}],
    }
    report = carob.check_conversations(write_lines(tmp_path / "export.jsonl", [said]), suite=suite)
    (claims,) = (rule.figures for rule in report.rules if rule.id == "claims")
    assert (claims.held, claims.broken) == (0, 1)


def test_rules_of_carob_toml_hold_where_none_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_policy(tmp_path)
    (tmp_path / "carob.toml").write_text('rules = ["policy.carob.yaml"]\n')
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "export.jsonl", [conversation("a", agreed=False)])
    assert figures(carob.check_conversations("export.jsonl"), "explicit-yes") == (0, 1, 0)


def test_files_are_masked_and_say_the_same(tmp_path: Path, policy: Path) -> None:
    secret = conversation("mail", agreed=False, user="ann@mail.example.org", created_at=day(1))
    secret["messages"][2]["content"] = "I am ann@mail.example.org, card 4242 4242 4242 4242. <script>alert(1)</script>"
    formula = conversation("=1+1", agreed=False, model="=cmd|' /C calc'!A0", created_at=day(2))
    outputs = [tmp_path / name for name in ("page.html", "figures.json", "figures.csv", "kept.jsonl")]
    check(tmp_path, [secret, formula, conversation("fine")], outputs=outputs, by="model")
    texts = [path.read_text() for path in outputs]
    assert not any(found in text for text in texts for found in ("ann@mail", "4242 4242"))
    page, data, table, _ = texts
    assert "<script>" not in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "Content-Security-Policy" in page
    assert [rule["figures"]["broken"] for rule in json.loads(data)["rules"]] == [2, 0, 0, 0]
    rows = [*csv.DictReader(io.StringIO(table))]
    assert {row["group"] for row in rows} == {"", "(not recorded)", "'=cmd|' /C calc'!A0"}
    kept = [*carob.Journal(outputs[3]).records()]
    assert [record.case.id for record in kept] == ["mail", "=1+1"]
    assert [record.status for record in kept] == ["FAIL", "FAIL"]
    shown = tmp_path / "shown.json"
    check(tmp_path, [secret], outputs=[shown], keep_personal_data=True)
    assert "ann@mail.example.org" in shown.read_text()


def test_verdicts_are_rows_for_a_database(tmp_path: Path, policy: Path) -> None:
    path = tmp_path / "verdicts.parquet"
    conversations = [conversation("a", agreed=False, user="ann@mail.example.org", created_at=day(1)), conversation("b")]
    check(tmp_path, conversations, outputs=[path])
    rows = parquet.read_table(path).to_pylist()
    found = {(row["conversation"], row["rule"]): row["verdict"] for row in rows}
    assert found == {
        ("a", "explicit-yes"): "broken",
        ("a", "cancelled-once"): "held",
        ("b", "explicit-yes"): "held",
        ("b", "cancelled-once"): "held",
    }
    assert rows[0]["why"].startswith("event 3: cancel_order")
    assert rows[0]["user"] == "person1@example.com"
    assert [row["started_at"] and row["started_at"].isoformat()[:10] for row in rows] == ["2026-11-01"] * 2 + [None] * 2


def test_journal_of_kept_conversations_is_judged_again_alike(tmp_path: Path, policy: Path) -> None:
    conversations = [conversation("same", agreed=False), conversation("same", ended=False), conversation("fine")]
    conversations += [conversation(f"more-{n}", calls=2, tags=["vip"]) for n in range(5)]
    journal = tmp_path / "kept.jsonl"
    report = check(tmp_path, conversations, outputs=[journal], keep=4)
    assert report.kept == "4 conversations, 3 more have no room (--keep N)"
    again = carob.rescore(journal)
    recorded = [(record.case.id, record.verdict.status) for record in carob.Journal(journal).records()]
    assert recorded == [(record.case.id, record.verdict.status) for record in again]
    assert [name for name, _ in recorded] == ["same", "same #2", "more-0", "more-1"]
    assert not again.journal.summary.incomplete
    source, policy_file = str(tmp_path / "export.jsonl"), str(policy)
    assert command(carob.Journal(journal).header, "same") == f"carob check {source} --rules {policy_file}"


@pytest.mark.parametrize(
    ("options", "slug"),
    [
        ({"since": "yesterday"}, "bad-option"),
        ({"where": "metadata.plan =="}, "bad-condition"),
        ({"where": "plan == 1"}, "bad-condition"),
        ({"where": "size(id)"}, "bad-condition"),
        ({"by": "month"}, "bad-option"),
        ({"max_broken": 5}, "bad-option"),
        ({"outputs": ["page.pdf"]}, "bad-option"),
        ({"format": "opneai-chat"}, "export-format"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    tmp_path: Path, policy: Path, options: dict[str, Any], slug: str
) -> None:
    with pytest.raises(CarobError) as refused:
        check(tmp_path, [conversation("a")], **options)
    assert refused.value.slug == slug
    assert refused.value.exit_code == ExitCode.USAGE


def test_no_rules_and_no_sources_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: Path) -> None:
    monkeypatch.chdir(tmp_path)
    source = write_lines(tmp_path / "export.jsonl", [conversation("a")])
    for sources, rules, slug in (
        ([source], (), "no-rules"),
        ([], str(policy), "no-traces"),
        (["none-*.jsonl"], str(policy), "no-traces"),
    ):
        with pytest.raises(CarobError) as refused:
            carob.check_conversations(sources, rules)
        assert refused.value.slug == slug


def test_file_of_which_nothing_can_be_read_ends_the_check_and_writes_nothing(tmp_path: Path, policy: Path) -> None:
    source = write_lines(tmp_path / "export.jsonl", [conversation("a")])
    source.write_text(source.read_text()[:-30])
    outputs = [tmp_path / name for name in ("page.html", "kept.jsonl")]
    for workers in (1, 2):
        with pytest.raises(CarobError, match=r"export\.jsonl: "):
            carob.check_conversations(source, str(policy), outputs=outputs, workers=workers)
    assert not any(path.exists() for path in outputs)
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []


def test_command_line(tmp_path: Path, policy: Path) -> None:
    hostile = conversation("\x1b[31mred", agreed=False, created_at=day(1))
    write_lines(tmp_path / "a.jsonl", [conversation("fine", created_at=day(1)), hostile])
    write_lines(tmp_path / "b.jsonl", [conversation("open", ended=False, created_at=day(3))])

    def run(*arguments: str) -> tuple[int, str, str]:
        done = process("check", *arguments, "--rules", "policy.carob.yaml", cwd=tmp_path, stdin=DEVNULL)
        return done.returncode, done.stdout, done.stderr

    code, out, err = run("*.jsonl", "--by", "day", "-o", "p.html")
    assert code == ExitCode.FAILED, err
    assert out.startswith("3 conversations: 1 broke a rule, 1 unknown, 1 clean\n  2 sources, openai-chat")
    assert "nothing-after-a-handover  not tested" in out
    assert "\x1b" not in out
    assert "\\x1b[31mred" in out
    assert "written: p.html" in err
    code, _, err = run("a.jsonl", "-o", "p.html")
    assert (code, "already exists" in err) == (ExitCode.USAGE, True)
    code, out, _ = run("-")
    assert (code, out) == (ExitCode.NOTHING_SELECTED, "0 conversations: there is nothing to judge\n")
    code, _, err = run("a.jsonl", "--max-broken", "120%")
    assert (code, "share" in err) == (ExitCode.USAGE, True)


def test_judge_many_agrees_with_check_and_can_be_sent(tmp_path: Path, policy: Path) -> None:
    import pickle

    conversations = [
        conversation("held"),
        conversation("broken", agreed=False),
        conversation("open", ended=False),
        conversation("idle", calls=0),
    ]
    source = write_lines(tmp_path / "export.jsonl", conversations)
    judge = pickle.loads(pickle.dumps(carob.prepare_judge(str(policy))))
    recorded = [*carob.read_conversations(source)]
    statuses = [verdict.status for verdict in carob.judge_many(judge, recorded)]
    assert statuses == ["PASS", "FAIL", "PARTIAL", "PARTIAL"]
    assert [verdict.status for verdict in map(judge, (each.trace for each in recorded))] == statuses
    assert judge.judge(recorded[1].trace)[0].outcome is RuleOutcome.BROKEN
    case = {"id": "a", "prompt": "Hi.", "expected": {"tool_calls_none": ["cancel_order"]}}
    traces = [{"final_message": "Hi.", "tool_calls": calls} for calls in ([], [{"name": "cancel_order"}])]
    assert [verdict.status for verdict in carob.judge_many(case, traces)] == ["PASS", "FAIL"]
