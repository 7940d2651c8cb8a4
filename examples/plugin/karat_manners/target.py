"""`parrot:GREETING`: an agent that greets and says back what it is told."""

from __future__ import annotations

from karat.model.suite import Case
from karat.model.trace import Trace
from karat.targets.base import RunContext, TargetError
from karat.targets.config import TargetConfig, no_options


class Parrot:
    """It calls no tool, and it shows that it can tell."""

    def __init__(self, config: TargetConfig) -> None:
        self.limits = config.limits
        self.options = config.identity
        self._config = config

    async def open(self) -> None:
        no_options(self._config)

    async def run(self, case: Case, context: RunContext) -> Trace:
        if not case.prompt.isprintable():
            raise TargetError("agent", "a parrot repeats no control characters")
        words = f"{self._config.spec}, {case.prompt}"
        return Trace(
            case_id=case.id, input=case.prompt, final_message=words, unobserved={"telemetry": "it keeps no log"}
        )

    async def close(self) -> None:
        pass
