"""The rules that conversations are held to now: read again as their files change; a broken file changes nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from carob.errors import CarobError
from carob.judging.judges import AnyPolicy, ConversationJudge, read_judge
from carob.plugins.project import Project
from carob.text.wording import pluralize

SECONDS: Final = 2.0
"""How often the files are read again: they may name others."""
Say = Callable[[str], None]


class CurrentRules:
    """A judge that is replaced when its files say something else."""

    def __init__(self, policies: Sequence[AnyPolicy], suite: AnyPolicy | None, project: Project, say: Say) -> None:
        """Read the rules for the first time. Raises CarobError."""
        self._sources = policies, suite, project
        self._say = say
        self._read_at = time.monotonic()
        self.judge: ConversationJudge = read_judge(*self._sources)
        self.problem = ""
        """What is wrong with the files now, if their rules are not the ones in use."""
        self.reloads = self.failures = 0

    def refresh(self) -> None:
        """Read the files again if that was long ago."""
        if time.monotonic() - self._read_at < SECONDS:
            return
        self._read_at = time.monotonic()
        try:
            judge = read_judge(*self._sources)
        except CarobError as error:
            if self.problem != str(error):
                self.problem = str(error)
                self.failures += 1
                self._say(f"the rules cannot be read again; those of before are kept: {error}")
            return
        if _content(judge) != _content(self.judge):
            self.judge = judge
            self.reloads += 1
            self._say(f"the rules were read again: {describe_rules(judge)}")
        elif self.problem:
            self._say("the rules can be read again, and are those of before")
        self.problem = ""


def _content(judge: ConversationJudge) -> object:
    return [(rule.id, rule.args) for rule in judge.rules], judge.specs


def describe_rules(judge: ConversationJudge) -> str:
    """`3 rules and 1 expectation`."""
    more = f" and {pluralize(len(judge.specs), 'expectation')}" if judge.specs else ""
    return f"{pluralize(len(judge.rules), 'rule')}{more}"
