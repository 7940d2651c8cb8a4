"""Labels as a revision of git holds them: what was reviewed, where labels are kept with the suite."""

from __future__ import annotations

from pathlib import Path

from carob.criteria.files import LABELS, OPINIONS, LabelFiles, parse_lines
from carob.criteria.records import Opinion, PersonLabel
from carob.errors import ConfigError
from carob.system.git import ask_git


def read_committed(folder: Path, revision: str) -> LabelFiles:
    """The labels and opinions of a revision. Raises ConfigError if git does not know it."""
    place = folder if folder.is_dir() else folder.parent
    commit = ask_git(place, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if commit is None:
        fix = "Name a commit, branch or tag of the repository that the labels are in."
        raise ConfigError(f"git knows no revision {revision!r} here.", where=str(folder), fix=fix, slug="bad-revision")
    at = commit.decode().strip()
    torn: list[str] = []
    data = {name: ask_git(folder, "show", f"{at}:./{name}") or b"" for name in (LABELS, OPINIONS)}
    labels = tuple(parse_lines(data[LABELS], f"{revision}:{LABELS}", PersonLabel, torn))
    opinions = tuple(parse_lines(data[OPINIONS], f"{revision}:{OPINIONS}", Opinion, torn))
    return LabelFiles(tuple(dict.fromkeys(labels)), tuple(dict.fromkeys(opinions)), tuple(torn))


def read_head(folder: Path) -> LabelFiles | None:
    """What the last commit holds; None where the folder is in no repository, or that has no commit."""
    try:
        return read_committed(folder, "HEAD")
    except ConfigError:
        return None
