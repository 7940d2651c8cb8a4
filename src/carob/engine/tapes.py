"""The tape of a run: which file, what is done with it, and the target that it surrounds."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from carob.checks.catalog import CheckCatalog
from carob.engine.events import CaseFinished, Event
from carob.engine.request import BY_NAME, ResolvedTarget, RunOptions, TargetRecipe, secret_values
from carob.errors import ConfigError, UsageError
from carob.model.check import CheckSpec
from carob.model.suite import Case, Suite, without_checks
from carob.model.trace import REMOVED
from carob.plugins.project import Project, join_dotted, read_table
from carob.proxy.tape.settings import MISS, SERVICES, TapeSettings, TapeTable
from carob.redaction.key_names import secrets_of_environ
from carob.suites.fault_keys import add_target_surroundings
from carob.targets.config import read_config
from carob.text.encodings import KEY_FORMATS
from carob.text.tool_names import is_named
from carob.text.wording import did_you_mean, pluralize

SUFFIX = ".tape.yaml"
TIMES = frozenset({"duration_ms", "timings"})
"""What is measured on a clock: a recording is quicker than what was recorded."""


def read_settings(project: Project) -> TapeTable:
    """The table `[tape]` of a project."""
    table = project.content.get("tape")
    if not isinstance(table, dict):
        return TapeTable()
    return read_table(table, TapeTable, Path(project.file), join_dotted(project.section, "tape"))


def tape_path(suite_file: str, table: TapeTable, project: Project) -> Path:
    """Where the tape of a suite is: next to it, unless the configuration names a file."""
    if table.file:
        return Path(project.file).parent / table.file
    file = Path(project.folder, suite_file)
    return file.with_name(file.stem.removesuffix(".carob") + SUFFIX)


def build_with_tape(
    agent: TargetRecipe | ResolvedTarget,
    options: RunOptions,
    suite: Suite | None,
    project: Project,
    secrets: tuple[str, ...],
) -> ResolvedTarget:
    """Build the agent with its tape, if one is asked for, and with what its proxy is to know.

    An object is an agent already, which can have neither.
    """
    table = read_settings(project)
    plays = options.tape or table.mode
    identity = agent.identity
    cases = () if suite is None else tuple(add_target_surroundings(case, identity) for case in suite.cases)
    for_faults = any(_needs_proxy(case, table) for case in cases)
    _refuse_unknown_services(cases, table, project)
    if isinstance(agent, ResolvedTarget):
        if plays is None and not for_faults:
            return agent
        ability = "have a tape" if plays is not None else "have faults of models and services"
        message = f"a target that is an object cannot {ability}: it was loaded before the proxy could be opened."
        raise UsageError(message, fix=BY_NAME, slug="bad-option")
    if plays is not None and options.repeat == "auto":
        fix = "Give --repeat a number, or leave the tape out."
        raise UsageError(
            "--repeat auto measures how an agent varies, but a tape always answers the same.",
            fix=fix,
            slug="bad-option",
        )
    if plays is None and not for_faults and table == TapeTable():
        return agent.build()
    path = tape_path("" if suite is None else suite.file, table, project) if plays is not None else Path()
    settings = TapeSettings(**structs.asdict(table), path=path, plays=plays, secrets=secrets, for_faults=for_faults)
    return TargetRecipe(structs.replace(agent.config, tape=settings), agent.name).build()


def _needs_proxy(case: Case, table: TapeTable) -> bool:
    """Whether a case has a fault that only the proxy can carry out, or one or a stub that it may have to."""
    if not (case.stubs or case.faults):
        return False
    return bool(table.services or table.stdio) or any(fault.hits != "tool" for fault in case.faults)


def _refuse_unknown_services(cases: Iterable[Case], table: TapeTable, project: Project) -> None:
    services = [*table.services, *(service.name for service in SERVICES)]
    for case in cases:
        for fault in case.faults:
            if fault.hits == "service" and not any(is_named(fault.name, name) for name in services):
                message = f"case {case.id!r} has the fault {fault}, and there is no service of that name."
                fix = (
                    did_you_mean(fault.name, services) or f"Add [tape.services.{fault.name}] with its `url` and `env`."
                )
                raise ConfigError(message, where=project.file, fix=fix, slug="unknown-service")


def _tape_of(agent: ResolvedTarget) -> TapeSettings | None:
    tape = None if agent.recipe is None else agent.recipe.tape
    return tape if tape is not None and tape.plays is not None else None


def tape_in_header(agent: ResolvedTarget) -> dict[str, object]:
    """What a journal says of the tape: what was done with which one."""
    tape = _tape_of(agent)
    if tape is None:
        return {}
    from carob.proxy.tape.file import read_tape  # few runs have a tape

    digest = {} if tape.plays == "record" or not tape.path.exists() else {"sha256": read_tape(tape.path).digest}
    return {"tape": {"mode": tape.plays, "file": tape.path.name, **digest}}


def leave_out_time_budgets(agent: ResolvedTarget, suite: Suite, catalog: CheckCatalog) -> tuple[Suite, int]:
    """The suite as it can be judged in a replay, and how many time budgets that leaves out."""
    tape = _tape_of(agent)
    if tape is None or tape.records:
        return suite, 0

    def is_timed(spec: CheckSpec) -> bool:
        cls = catalog.find(spec.name)
        return cls is not None and bool(cls.channels) and TIMES.issuperset(cls.channels)

    count = sum(is_timed(spec) for case in suite.cases for _, spec in case.all_checks)
    cases = tuple(without_checks(case, is_timed) for case in suite.cases)
    return (structs.replace(suite, cases=cases) if count else suite), count


def replay_notice(agent: ResolvedTarget, unjudged: int) -> str:
    """What is to be known of a run that is replayed: from what, what is not judged, and which keys are none."""
    tape = _tape_of(agent)
    if tape is None or tape.plays not in ("replay", "follow"):
        return ""
    environ = {**os.environ, **(agent.recipe.env if agent.recipe is not None else {})}
    budgets = f"; {pluralize(unjudged, 'time budget')} not judged" if unjudged else ""
    keys = "; placeholders are set for API keys that are missing" if tape.placeholders(environ) else ""
    return f"replayed from {tape.path.name}{budgets}{keys}"


class MissCounter:
    """Counts the cases that missed the tape, by cause: one edit of a prompt misses in all of them."""

    def __init__(self) -> None:
        self._causes: Counter[str] = Counter()
        self._details: dict[str, str] = {}

    def __call__(self, event: Event) -> None:
        if isinstance(event, CaseFinished) and event.done.error == MISS and event.record.trace.error is not None:
            error = event.record.trace.error
            cause = error.message.partition(": request ")[0]
            self._causes[cause] += 1
            self._details.setdefault(cause, error.detail)

    @property
    def lines(self) -> Iterator[str]:
        for cause, cases in self._causes.most_common():
            detail = "; ".join(" ".join(line.split()) for line in self._details[cause].splitlines())
            yield f"not on the tape: {cause}: {pluralize(cases, 'case')}{detail and f' ({detail})'}"


class TapeReport(Struct, frozen=True, kw_only=True):
    """A tape, held against the suite that it is for."""

    path: Path
    exchanges: int
    orphans: tuple[str, ...] = ()
    """Cases on the tape that the suite does not have."""
    missing: tuple[str, ...] = ()
    """Cases of the suite that are not on the tape."""
    expired: tuple[str, ...] = ()
    """Cases with a recording that is older than `max_age_days`."""

    @property
    def is_sound(self) -> bool:
        return not (self.orphans or self.missing or self.expired)


def check_tape(suite: Suite, project: Project, today: date) -> TapeReport:
    """Hold the tape of a suite against the suite."""
    from carob.proxy.tape.file import read_tape

    table = read_settings(project)
    tape = read_tape(tape_path(suite.file, table, project))
    here = [case.id for case in suite.cases if not case.skip]
    case_ids = {case.id for case in suite.cases}
    taped = {case for case, _ in tape.runs}
    oldest = None if table.max_age_days is None else (today - timedelta(days=table.max_age_days)).isoformat()
    return TapeReport(
        path=tape.path,
        exchanges=len(tape.exchanges),
        orphans=tuple(sorted(taped - case_ids)),
        missing=tuple(case for case in here if case not in taped),
        expired=tuple(dict.fromkeys(entry.case for entry in tape.exchanges if oldest and entry.recorded < oldest)),
    )


class Leak(Struct, frozen=True):
    """What looks like a secret on a tape: of which case, in which of its exchanges, and in which part of it."""

    case: str
    number: int
    part: str
    why: str


def scan_tape(path: Path, project: Project, environ: Mapping[str, str]) -> list[Leak]:
    """Everything on a tape that is a secret by its value, or looks like one; values come from the environment."""
    from carob.proxy.tape.file import read_tape
    from carob.proxy.tape.secrets import SecretKeeper

    config = read_config(project)
    keeper = SecretKeeper({*secret_values(config, environ), *secrets_of_environ(environ)})
    looks = re.compile(KEY_FORMATS)
    leaks, numbers = list[Leak](), Counter[str]()
    for exchange in read_tape(path).exchanges:
        numbers[exchange.case] += 1
        answer = exchange.answer
        said = b"".join(event.raw for event in answer.events) or answer.body
        cleaned = keeper.clean(exchange)
        parts = {
            "request": (exchange.request != cleaned.request, msgspec.json.encode(exchange.request)),
            "answer": (answer != cleaned.answer, said + msgspec.json.encode(answer.headers)),
        }
        for part, (has_value, data) in parts.items():
            found = (match[0] for match in looks.finditer(data.decode("utf-8", "replace")))
            if has_value:
                leaks.append(Leak(exchange.case, numbers[exchange.case], part, "it holds a secret of the environment"))
            elif any(REMOVED not in text for text in found):
                leaks.append(Leak(exchange.case, numbers[exchange.case], part, "it holds what looks like a key"))
    return leaks
