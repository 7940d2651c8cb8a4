"""`python -m benchmarks.published tau-bench --from CLONE`: published conversations, rewards, and Carob's verdicts.

`bfcl`, `tau2` and `peers` hold Carob against other judges in the same way (`--help`).

Nothing of the clone is kept. Its tools are run to explain disagreements, unless `--without-database` says otherwise.
The exit code is 1 if a disagreement has no explanation.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.published.agreement import (
    NO_DATABASE,
    UNEXPLAINED,
    Difference,
    Facts,
    Judged,
    agreement_table,
    differences_text,
    explain,
    find_facts,
    judge,
    recomputed_reward,
)
from benchmarks.published.commands import add_commands
from benchmarks.published.contracts import agreement_suite
from benchmarks.published.conversations import Conversation
from benchmarks.published.database import Database
from benchmarks.published.effects import DOMAINS, write_tools
from benchmarks.published.recordings import by_hand, left_to_carob
from benchmarks.published.tau_bench import policy_file, published_file, read_trajectories
from benchmarks.published.words import alarms_text, force_failures, forced_text, judge_forced, judge_words, words_table

LEFT, HAND, STRICT = "left to Carob", "by hand", "by hand, other writes not even tried"


class Work(NamedTuple):
    """What one run of this program is about."""

    conversations: list[Conversation]
    domain: str
    policy: str
    folder: Path


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parsed(arguments)
    return int(given.run(given))


def _judge_tau_bench(given: argparse.Namespace) -> int:
    policy = policy_file(given.clone, given.domain)
    source = given.trajectories or published_file(given.clone, given.model, given.domain)
    for needed in (policy, source):
        if not needed.is_file():
            print(f"{needed}: there is no such file. Name another with --from or --trajectories.", file=sys.stderr)
            return 2
    read = read_trajectories(source, given.domain)
    print(f"{source.name}: {len(read.conversations)} conversations; {read.broken} runs broke before there was one")
    with tempfile.TemporaryDirectory(prefix="carob-published-") as scratch:
        folder = given.out or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        work = Work(read.conversations, given.domain, str(policy.resolve()), folder)
        database = None if given.without_database else Database(given.clone, given.domain)
        unexplained = _print_agreement(work, database) if given.only != "words" else 0
        if given.only != "agreement":
            _print_words(work)
    return 1 if unexplained else 0


def _print_agreement(work: Work, database: Database | None) -> int:
    """Print Carob's verdicts next to the rewards, and give the number of disagreements without an explanation."""
    suite = agreement_suite(work.conversations, work.domain)
    strict = agreement_suite(work.conversations, work.domain, only_effects=True)
    rows = {
        LEFT: judge(work.folder, suite, work.conversations, left_to_carob),
        HAND: judge(work.folder, suite, work.conversations, by_hand),
        STRICT: judge(work.folder, strict, work.conversations, by_hand),
    }
    print(agreement_table(f"{work.domain}: Carob and the published reward", rows))
    facts = _all_facts(work, database)
    unexplained = 0
    for name in (LEFT, HAND):
        differences = _differences(rows[name], facts)
        unexplained += sum(one.kind in (UNEXPLAINED, NO_DATABASE) for one in differences)
        print(differences_text(f"{work.domain}: disagreements, success {name}", differences), flush=True)
    return unexplained


def _all_facts(work: Work, database: Database | None) -> dict[str, Facts]:
    if database is None:
        return {}
    tools = write_tools(work.domain)
    facts = {one.id: find_facts(database, one, tools) for one in work.conversations}
    again = sum(recomputed_reward(one, facts[one.id]) == one.rewarded for one in work.conversations)
    print(f"The clone's own tools give the published reward in {again} of {len(facts)} conversations.")
    return facts


def _differences(judged: Sequence[Judged], facts: dict[str, Facts]) -> list[Difference]:
    return [explain(one, facts.get(one.conversation.id)) for one in judged if not one.agrees]


def _print_words(work: Work) -> None:
    for name, success in ((LEFT, left_to_carob), (HAND, by_hand)):
        words = judge_words(work.folder, work.conversations, work.domain, work.policy, success)
        print(words_table(f"{work.domain}: words, declared effects; success {name}", words))
    print("\n".join(alarms_text(words)))
    forced = [*force_failures(work.conversations, work.domain)]
    found = judge_forced(work.folder, forced, work.domain, by_hand)
    print(forced_text(f"{work.domain}: writes forced to fail", found))


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.published", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, metavar="BENCHMARK")
    tau = commands.add_parser("tau-bench", help="conversations of sierra-research/tau-bench")
    tau.add_argument("--from", dest="clone", type=Path, required=True, metavar="CLONE", help="a local clone of it")
    tau.add_argument("--domain", choices=DOMAINS, default="airline")
    tau.add_argument("--model", default="gpt-4o", help="whose published trajectories (default gpt-4o)")
    tau.add_argument("--trajectories", type=Path, metavar="FILE", help="another file of the same format")
    tau.add_argument("--only", choices=("agreement", "words"), help="one part of it")
    tau.add_argument("--without-database", action="store_true", help="do not run the tools of the clone")
    tau.add_argument("--out", type=Path, metavar="FOLDER", help="keep the recording there")
    tau.set_defaults(run=_judge_tau_bench)
    add_commands(commands)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
