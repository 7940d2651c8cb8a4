"""`bfcl`, `tau2`, `peers`, `rules`, `graders` and `gold`: verdicts and graders of others, held against Carob's."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.published import (
    agentdojo,
    agentdojo_agreement,
    bfcl,
    bfcl_turns,
    coding,
    criteria,
    gold_coverage,
    graders,
    guard,
    peers,
    rule_audit,
    rules,
    small_judge,
    tau2,
    trail,
    workbench,
)
from benchmarks.published.tau_bench import published_file

One = TypeVar("One")
TURNS = ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context")


def add_commands(commands: Any) -> None:
    """Add the sub-commands to a parser."""
    answers = commands.add_parser("bfcl", help="published answers to BFCL, and answers made from its gold")
    answers.add_argument("--from", dest="data", type=Path, required=True, help="the folder `data` of bfcl_eval")
    answers.add_argument("--results", type=Path, help="a folder of HuanzhiMao/BFCL-Result, such as 2024-08-11")
    answers.add_argument("--models", nargs="*", help="whose answers; all by default")
    answers.add_argument("--python", required=True, help="a Python that has bfcl_eval and mpmath")
    answers.set_defaults(run=_judge_bfcl)
    simulations = commands.add_parser("tau2", help="results of tau2")
    simulations.add_argument("files", nargs="+", type=Path, help="files with `tasks` and `simulations`")
    simulations.set_defaults(run=_judge_tau2)
    bench = commands.add_parser("workbench", help="published answers of five models to WorkBench, next to its checker")
    bench.add_argument("--from", dest="clone", type=Path, required=True, metavar="CLONE", help="a clone of it")
    bench.add_argument("--python", required=True, help="a Python that has pandas")
    bench.set_defaults(run=_judge_workbench)
    decided = commands.add_parser("criteria", help="the share of expectations of public suites that can be decided")
    decided.add_argument("folders", nargs="+", type=Path, help="folders with promptfoo configurations or evals.json")
    decided.set_defaults(run=_count_criteria)
    small = commands.add_parser("small-judge", help="a small model as the judge of 60 answers of HaluEval")
    small.add_argument("--from", dest="clone", type=Path, required=True, metavar="CLONE", help="a clone of HaluEval")
    small.add_argument("--base-url", required=True, help="an OpenAI-compatible address, such as llama.cpp's own")
    small.add_argument("--model", default="smollm2-135m", help="its name there")
    small.set_defaults(run=_ask_small_judge)
    others = commands.add_parser("peers", help="agentevals, DeepEval and pydantic-evals on the same answers")
    for peer in peers.PEERS:
        others.add_argument(f"--{peer.name}", metavar="PYTHON", help=f"a Python that has {peer.name}")
    others.add_argument("--count", type=int, default=600, help="verdicts of each (default 600)")
    others.set_defaults(run=_judge_peers)
    policies = commands.add_parser("rules", help="conversations of tau-bench held to its written policies")
    policies.add_argument(
        "--from", dest="clone", type=Path, metavar="CLONE", help="a clone of sierra-research/tau-bench"
    )
    policies.add_argument(
        "--trajectories", nargs="*", type=Path, default=[], metavar="FILE", help="files of that format"
    )
    policies.add_argument("--audit", action="store_true", help="change conversations so that they break each rule")
    policies.add_argument("--alarms", nargs="*", metavar="RULE", help="show each conversation that breaks it")
    policies.set_defaults(run=_judge_rules)
    dojo = commands.add_parser("agentdojo", help="runs of AgentDojo next to its utility and security functions")
    dojo.add_argument("files", nargs="+", type=Path, help="files of runs, a JSON object in each line")
    dojo.add_argument("--python", default="", help="a Python that has agentdojo, to explain differences")
    dojo.set_defaults(run=_judge_agentdojo)
    flows = commands.add_parser("data-flow", help="runs of AgentDojo, held to rules on where values may come from")
    flows.add_argument("files", nargs="+", type=Path, help="files of runs, a JSON object in each line")
    flows.add_argument(
        "--show", type=int, default=0, metavar="N", help="so many tasks that did not come out as expected"
    )
    flows.set_defaults(run=_judge_data_flow)
    labelled = commands.add_parser("trail", help="traces of TRAIL held to standing rules, next to what people labelled")
    labelled.add_argument(
        "--from", dest="clone", type=Path, required=True, metavar="CLONE", help="of patronus-ai/trail-benchmark"
    )
    labelled.add_argument("--writing-half", action="store_true", help="judge the half that the rules were written from")
    labelled.set_defaults(run=_judge_trail)
    guarded = commands.add_parser("guard", help="what a guard would have refused in conversations of tau-bench")
    guarded.add_argument(
        "--from", dest="clone", type=Path, metavar="CLONE", help="a clone of sierra-research/tau-bench"
    )
    guarded.add_argument(
        "--trajectories", nargs="*", type=Path, default=[], metavar="FILE", help="files of that format"
    )
    guarded.add_argument("--agentdojo", nargs="*", type=Path, default=[], metavar="FILE", help="runs of AgentDojo")
    guarded.add_argument("--show", action="store_true", help="print what is refused in conversations with a reward")
    guarded.set_defaults(run=_guard_published)
    judges = commands.add_parser("graders", help="graders of others, audited on published runs that they accept")
    judges.add_argument("files", nargs="*", type=Path, help="files of runs of AgentDojo")
    judges.add_argument("--agentdojo", metavar="PYTHON", help="a Python that has agentdojo and Carob")
    judges.add_argument("--versions", nargs="*", default=["v1", "v1.2.2"], help="of the tasks of AgentDojo")
    judges.add_argument("--tau-bench", dest="clone", type=Path, metavar="CLONE", help="a clone of tau-bench")
    judges.add_argument("--peers", metavar="PYTHON", help=f"a Python that has Carob and {', '.join(graders.PEERS)}")
    judges.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="where traces and reports are kept")
    judges.set_defaults(run=_audit_graders)
    gold = commands.add_parser("gold", help="tools and arguments that no gold action of a benchmark touches")
    gold.add_argument("--tau2", type=Path, metavar="CLONE", help="a clone of sierra-research/tau2-bench")
    gold.add_argument("--agentdojo", metavar="PYTHON", help="a Python that has agentdojo")
    gold.set_defaults(run=_measure_gold)
    sessions = commands.add_parser("coding", help="sessions of coding agents next to the tests of their tasks")
    sessions.add_argument(
        "--from", dest="clone", type=Path, required=True, help="a clone of laude-institute/terminal-bench-leaderboard"
    )
    sessions.set_defaults(run=_read_sessions)


def _count_criteria(given: argparse.Namespace) -> int:
    for folder in given.folders:
        print(f"{folder.name}: {criteria.count(criteria.find_suites([folder]))}")
    print(f"all: {criteria.count(criteria.find_suites(given.folders))}")
    return 0


def _ask_small_judge(given: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="carob-judge-") as folder:
        small_judge.judge_answers(given.clone.resolve(), Path(folder), given.base_url, given.model)
    return 0


def _judge_bfcl(given: argparse.Namespace) -> int:
    unexplained = 0
    with tempfile.TemporaryDirectory(prefix="carob-published-") as scratch:
        folder = Path(scratch)
        if given.results:
            models = given.models or sorted(one.name for one in (given.results / "result").iterdir())
            found = [
                one
                for name in models
                for one in bfcl.judge_model(given.data, given.results, name, given.python, folder)
            ]
            unexplained += _print("BFCL, today's checker", found, lambda one: one.agrees, lambda one: one.kind)
            as_json = [one for one in found if "-FC" in one.model]  # how texts were decoded back then is not known
            _print(
                "BFCL, published verdicts",
                as_json,
                lambda one: (one.status == "PASS") is one.published,
                lambda one: one.published_kind,
            )
        for category in TURNS:
            turns = [*bfcl_turns.judge_turns(given.data, category, given.python, folder)]
            unexplained += _print(f"BFCL, {category}", turns, lambda one: one.agrees, lambda one: one.kind)
    return 1 if unexplained else 0


def _judge_tau2(given: argparse.Namespace) -> int:
    found = [one for file in given.files for one in tau2.judge_file(file)]
    return 1 if _print("tau2", found, lambda one: one.agrees, lambda one: one.kind) else 0


def _judge_workbench(given: argparse.Namespace) -> int:
    """Fail where Carob passes what WorkBench does not."""
    judged = list(workbench.judge_clone(given.clone, given.python))
    print(workbench.agreement_text(judged))
    return 1 if any(one.status == "PASS" and not one.correct for one in judged) else 0


def _judge_peers(given: argparse.Namespace) -> int:
    unexplained = 0
    for peer in peers.PEERS:
        if python := getattr(given, peer.name):
            with tempfile.TemporaryDirectory(prefix="carob-published-") as scratch:
                found = [*peers.compare(peer, python, Path(scratch), given.count)]
            unexplained += _print(peer.name, found, lambda one: one.agrees, peer.explain)
    return 1 if unexplained else 0


def _judge_rules(given: argparse.Namespace) -> int:
    files = [*_published_files(given.clone), *(path for path in given.trajectories if path.is_file())]
    for path in files:
        runs = rules.read_runs(path)
        policy = rules.read_policy(rules.find_domain(runs))
        judged = [*rules.judge_runs(policy, runs)]
        print(rules.rules_table(path.name, policy, judged, rules.measure(policy, runs)), flush=True)
        if given.audit:
            print(
                rule_audit.audit_table(policy, rule_audit.audit_rules(policy, map(rules.read_trace, runs))), flush=True
            )
        if given.alarms is not None:
            print("\n".join(rules.alarms_text(judged, given.alarms or policy.rules)), flush=True)
    if not files:
        print("No file of trajectories is there. Name a clone with --from, or files with --trajectories.")
    return 0 if files else 2


def _judge_agentdojo(given: argparse.Namespace) -> int:
    judged = agentdojo_agreement.judge_files(given.files, given.python)
    unexplained = 0
    for title, of_attacker in (("AgentDojo, utility", False), ("AgentDojo, security", True)):
        found = [one for one in judged if one.of_attacker is of_attacker]
        unexplained += _print(title, found, lambda one: one.agrees, lambda one: one.kind)
    return 1 if unexplained else 0


def _judge_data_flow(given: argparse.Namespace) -> int:
    policy = rules.read_policy("agentdojo")
    judged = [agentdojo.judge_run(policy, run) for path in given.files for run in agentdojo.read_runs(path)]
    print(agentdojo.data_flow_table(judged, given.show), flush=True)
    return 0


def _guard_published(given: argparse.Namespace) -> int:
    files = [*_published_files(given.clone), *given.trajectories]
    if files:
        print(guard.DESK_HEAD)
    for path in files:
        _, desks = guard.guard_desk(path)
        print(guard.desk_rows(path.name, desks), flush=True)
        if given.show:
            print("\n".join(guard.refusals_text(desks)), flush=True)
    if given.agentdojo:
        print(guard.attacks_table([*guard.guard_attacks(given.agentdojo)]), flush=True)
    if not files and not given.agentdojo:
        print("No file is there. Name a clone with --from, or files with --trajectories or --agentdojo.")
        return 2
    return 0


def _published_files(clone: Path | None) -> list[Path]:
    """The trajectories that a clone of tau-bench has."""
    files = [published_file(clone, "gpt-4o", domain) for domain in ("airline", "retail")] if clone else []
    return [path for path in files if path.is_file()]


def _read_sessions(given: argparse.Namespace) -> int:
    trials = coding.read_trials(given.clone)
    print(coding.coding_table(trials), flush=True)
    return 0 if trials else 2


def _audit_graders(given: argparse.Namespace) -> int:
    given.out.mkdir(parents=True, exist_ok=True)
    if given.agentdojo:
        runs = given.out / "agentdojo.jsonl"
        print(f"AgentDojo: {graders.write_dojo_runs(given.files, runs)} tasks with a run that was published as done")
        reports = {}
        for version in given.versions:
            reports[version] = graders.audit_dojo(given.agentdojo, runs, given.out, version)
            print(f"\n## AgentDojo {version}", graders.grader_table(reports[version]), sep="\n", flush=True)
        print("\n".join(graders.known_lines([*reports.values()])), flush=True)
        for spec in (spec for specs in graders.PEERS.values() for spec in specs if given.peers):
            print(graders.grader_table(graders.audit(given.peers, spec, runs, given.out)), flush=True)
    if given.clone:
        runs = given.out / "tau-bench.jsonl"
        graders.write_tau_runs(given.clone, "airline", runs)
        print(graders.grader_table(graders.audit_tau(sys.executable, given.clone, runs, given.out)), flush=True)
    return 0


def _measure_gold(given: argparse.Namespace) -> int:
    measured = [gold_coverage.measure_tau2(given.tau2)] if given.tau2 else []
    measured += gold_coverage.measure_agentdojo(given.agentdojo) if given.agentdojo else []
    print(gold_coverage.gold_table(measured), flush=True)
    return 0 if measured else 2


def _print(title: str, found: Sequence[One], agrees: Callable[[One], bool], kind: Callable[[One], str]) -> int:
    """Print how many agree, and the others class by class with an example; give the number that is not explained."""
    kinds: dict[str, list[One]] = {}
    for one in found:
        if not agrees(one):
            kinds.setdefault(kind(one), []).append(one)
    same = len(found) - sum(map(len, kinds.values()))
    share = f" ({100 * same / len(found):.2f} %)" if found else ""
    print(f"\n### {title}\n\n{len(found)} verdicts, {same} agree{share}", flush=True)
    for name, those in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"{len(those)} × {name}\n    {_short(those[:1])}", flush=True)
    return len(kinds.get("not explained", ()))


def _short(examples: Iterable[object], most: int = 500) -> str:
    text = " ".join(" ".join(map(str, examples)).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _judge_trail(given: argparse.Namespace) -> int:
    half = trail.judge_half(given.clone, for_writing=given.writing_half)
    print("\n".join(trail.agreement_lines(half)))
    return 0 if half.traces else 2
