"""`parrot:GREETING`: an agent that greets and says back what it is told."""

from __future__ import annotations

from carob import Case, ConfigError, RunContext, TargetConfig, TargetError, Trace


class Parrot:
    """It calls no tool, and it shows that it can tell."""

    def __init__(self, config: TargetConfig) -> None:
        self.limits = config.limits
        self.options = config.identity
        self._config = config

    async def open(self) -> None:
        if self._config.options:
            raise ConfigError(f"a parrot has no options, and {', '.join(self._config.options)} is given.")

    async def run(self, case: Case, context: RunContext) -> Trace:
        if not case.prompt.isprintable():
            raise TargetError("agent", "a parrot repeats no control characters")
        words = f"{self._config.spec}, {case.prompt}"
        return Trace(
            case_id=case.id, input=case.prompt, final_message=words, unobserved={"telemetry": "it keeps no log"}
        )

    async def close(self) -> None:
        pass
