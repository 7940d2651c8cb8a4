"""`carob draft`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from carob.cli.options import AT_LEAST_ONE, RepeatsParameter, Seconds, assignments
from carob.errors import ExitCode

if TYPE_CHECKING:
    from carob.features.draft.draft import SuiteDraft

SHOWN = 20


@click.command()
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@click.option("-o", "--output", "output", metavar="FILE", help="A .yaml file to write (default: stdout).")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option("-t", "--target", metavar="TARGET", help="The agent to send prompts to, if there are no recordings.")
@click.option("--prompts", metavar="FILE", help="Prompts to send: one per line, or a .csv with a column `prompt`.")
@click.option("--repeat", type=RepeatsParameter(), default=5, metavar="N", help="How often to send each prompt.")
@click.option(
    "--allow-effects",
    is_flag=True,
    help="Let the agent use tools that change something. Without it, Carob asks only agents whose tools it can stub.",
)
@click.option(
    "--bad",
    "bad",
    multiple=True,
    metavar="SOURCE",
    help="Sessions that went wrong; repeatable. Drafts what all of the others did and one of these did not.",
)
@click.option("--rules", "is_contract", is_flag=True, help="Draft rules that all recordings keep, not cases.")
@click.option("--name", metavar="NAME", default="", show_default=False, help="Name of the suite.")
@click.option(
    "--max-cases",
    type=AT_LEAST_ONE,
    default=30,
    metavar="N",
    help="Maximum number of cases; rarer kinds of runs are listed as questions.",
)
@click.option(
    "--keep-personal-data", is_flag=True, help="Do not mask email addresses, phone, card and account numbers and keys."
)
@click.option("--timeout", type=Seconds(), metavar="S", help="Seconds for one run of a prompt.")
@click.option("--concurrency", type=AT_LEAST_ONE, default=4, help="Prompts to send at once.")
@click.option(
    "--option", "options", multiple=True, callback=assignments, metavar="KEY=VALUE", help="An option of the target."
)
def command(
    sources: tuple[str, ...],
    output: str | None,
    force: bool,
    prompts: str | None,
    bad: tuple[str, ...],
    is_contract: bool,
    **how: Any,
) -> int:
    """Draft a suite from what an agent did. No model is involved: the suite has what the runs have in common.

    A SOURCE is a journal, a recording or an export that `replay:` reads, a folder of these, or a tape.
    Similar runs become one case. A comment on each line says how many runs support it. At the top of the file is
    how many wrong answers the draft would catch, and what it cannot see; at the end is what looks wrong in the runs.

    The suite says `draft: true` until you have reviewed it and removed that line.

    \b
    From recordings:
      carob draft carob-results/checkout-20260101T090000Z.jsonl -o checkout.carob.yaml
      carob draft before.jsonl after.jsonl --max-cases 10 -o drafted.yaml

    \b
    Rules that hold in all recordings:
      carob draft --rules carob-results/ -o policy.carob.yaml

    \b
    What good sessions of a coding agent did and bad ones did not:
      carob draft good/ --bad bad/ -o contrast.carob.yaml

    \b
    By sending prompts to an agent:
      carob draft -t python:agent.py:ask --prompts prompts.txt --allow-effects -o asked.carob.yaml
    """
    from carob import api
    from carob.cli.main import print_error
    from carob.features.draft import library

    is_probed = bool(prompts or how["target"])
    if bad:
        kept = {key: how[key] for key in ("name", "max_cases", "keep_personal_data")}
        return draft_from_both(sources, bad, output, force, is_alone=not (is_probed or is_contract), **kept)
    if is_contract:
        return draft_contract(sources, output, force, name=how["name"], is_probed=is_probed)
    recording = None if output is None else recording_of(Path(output))
    if output is not None and recording is not None:
        api.refuse_place(Path(output), force)
        api.refuse_taken(recording, force)
    sent_prompts = library.read_prompts(prompts) if prompts else ()
    draft = library.draft(sources, prompts=sent_prompts, **how)
    for line in summary_lines(draft):
        print_error(line)
    if output is None or recording is None:
        click.echo(draft.yaml.encode(), nl=False)  # YAML is UTF-8, whatever the terminal is
    else:
        api.write_suite(draft.yaml, Path(output))
        api.write_suite(draft.recording.decode(), recording)
        print_error(f"written: {output}. Read it, then: carob run {output}")
        print_error(f"its runs: {recording}. Without the agent: carob run {output} --target replay:{recording}")
    return ExitCode.OK


def draft_from_both(
    good: tuple[str, ...], bad: tuple[str, ...], output: str | None, force: bool, *, is_alone: bool, **how: Any
) -> ExitCode:
    """Draft how good sessions differ from bad ones, and write or print it."""
    from carob import api
    from carob.cli.main import print_error
    from carob.errors import UsageError
    from carob.features.draft import library
    from carob.text.wording import pluralize

    if not is_alone:
        fix = "Leave out --rules, --target and --prompts: carob draft good/ --bad bad/."
        raise UsageError("--bad compares recorded sessions.", fix=fix, slug="bad-options")
    if output is not None:
        api.refuse_place(Path(output), force)
    draft = library.draft_contrast(good, bad, **how)
    for line in draft.lines:
        print_error(f"catches {len(line.caught)} of {draft.bad}: {line.words}")
    passed = f"all {draft.good} good sessions pass" if draft.good > 1 else "the good session passes"
    print_error(f"{pluralize(len(draft.lines), 'line')}: {passed}, {draft.caught} of {draft.bad} bad ones fail")
    if output is None:
        click.echo(draft.yaml.encode(), nl=False)
    else:
        api.write_suite(draft.yaml, Path(output))
        print_error(f"written: {output}. Read each line, then: carob check --suite {output} SESSIONS")
    return ExitCode.OK


def draft_contract(
    sources: tuple[str, ...], output: str | None, force: bool, *, name: str, is_probed: bool
) -> ExitCode:
    """Draft rules from recordings, and write or print them."""
    from carob import api
    from carob.cli.main import print_error
    from carob.errors import UsageError
    from carob.features.draft import library
    from carob.text.wording import pluralize

    if is_probed:
        fix = "Run the agent first, then name the journal: carob draft --rules carob-results/."
        raise UsageError("--rules needs recorded conversations, not an agent.", fix=fix, slug="no-traces")
    if output is not None:
        api.refuse_place(Path(output), force)
    draft = library.draft_rules(sources, name=name)
    conversations = pluralize(draft.conversations, "conversation")
    if not (draft.rules or draft.questions):
        fix = "Give more conversations, or write one: see `carob help rules`."
        raise UsageError(f"no rule was found that {conversations} keep.", fix=fix, slug="no-rules")
    print_error(f"{pluralize(len(draft.rules), 'rule')} that all of {conversations} keep")
    if draft.questions:
        print_error(f"{pluralize(len(draft.questions), 'rule')} that nearly all keep: see the end of the file")
    if output is None:
        click.echo(draft.yaml.encode(), nl=False)
    else:
        api.write_suite(draft.yaml, Path(output))
        print_error(f"written: {output}. Read each rule, then name the file in `rules:` of a suite or carob.toml")
    return ExitCode.OK


def recording_of(output: Path) -> Path:
    """Where the runs are written that the cases of a draft are from: next to it."""
    stem = output.name.removesuffix(output.suffix).removesuffix(".carob")
    return output.with_name(f"{stem}.traces.jsonl")


def summary_lines(draft: SuiteDraft) -> list[str]:
    """What a person wants to know before reading the file."""
    from carob.text.wording import pluralize

    figures = draft.summary
    cases = pluralize(figures.cases, "case")
    lines = [f"{cases} from {figures.covered} of {figures.traces} traces; {figures.apart} left out"]
    if figures.masked:
        lines.append("masked: " + ", ".join(f"{count} {kind}" for kind, count in figures.masked.most_common()))
    if figures.held_out:
        lines.append(f"held out: {figures.held_out_passed} of {figures.held_out} passed at once")
    facts, every = figures.rate_of_facts, figures.rate
    lines.append(f"would catch: {facts.value:.0%} of wrong tool calls, {every.value:.0%} of all wrong answers")
    lines += [f"{finding.kind} ({finding.times}): {finding.text}" for finding in draft.findings[:SHOWN]]
    if len(draft.findings) > SHOWN:
        lines.append(f"and {len(draft.findings) - SHOWN} more findings: see the end of the file")
    return lines
