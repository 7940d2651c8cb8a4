"""The tape of a run: which file, what is done with it, and the target that it surrounds."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from karat.errors import UsageError
from karat.plugins.project import Project
from karat.plugins.tables import dotted, read
from karat.running.request import BY_NAME, ResolvedTarget, RunOptions
from karat.world.settings import TapeSettings, TapeTable
from karat.world.tape import read_tape

SUFFIX = ".tape.yaml"


def read_settings(project: Project) -> TapeTable:
    """The table `[tape]` of a project."""
    given = project.content.get("tape")
    if not isinstance(given, dict):
        return TapeTable()
    return read(given, TapeTable, Path(project.file), dotted(project.section, "tape"))


def tape_path(suite_file: str, table: TapeTable, project: Project) -> Path:
    """Where the tape of a suite is: next to it, unless the configuration names a file."""
    if table.file:
        return Path(project.file).parent / table.file
    file = Path(project.folder, suite_file)
    return file.with_name(file.name.removesuffix(file.suffix) + SUFFIX)


def put_on_tape(
    agent: ResolvedTarget, options: RunOptions, suite_file: str, project: Project, secrets: tuple[str, ...]
) -> ResolvedTarget:
    """The agent with its tape, if the options or the configuration ask for one."""
    table = read_settings(project)
    plays = options.tape or table.mode
    if plays is None:
        return agent
    if agent.recipe is None:
        message = "a target that is an object cannot have a tape: it was loaded before the tape could be opened."
        raise UsageError(message, fix=BY_NAME, slug="bad-option")
    if options.repeat == "auto":
        fix = "Give --repeat a number, or leave the tape out."
        raise UsageError("--repeat auto asks how an agent varies, and a tape does not.", fix=fix, slug="bad-option")
    path = tape_path(suite_file, table, project)
    settings = TapeSettings(**structs.asdict(table), path=path, plays=plays, secrets=secrets)
    return ResolvedTarget.from_config(structs.replace(agent.recipe, tape=settings), agent.name)


def tape_in_header(agent: ResolvedTarget) -> dict[str, object]:
    """What a journal says of the tape: what was done with which one."""
    tape = None if agent.recipe is None else agent.recipe.tape
    if tape is None:
        return {}
    digest = {} if tape.plays == "record" or not tape.path.exists() else {"sha256": read_tape(tape.path).digest}
    return {"tape": {"mode": tape.plays, "file": tape.path.name, **digest}}
