"""The traffic of an agent with its models, as evidence of what it did in a case."""

from __future__ import annotations

from msgspec import structs

from karat.evidence.merge import TurnEvidence, answers_by_turn, merge_by_turn, merge_calls, merge_evidence
from karat.evidence.models.reading import read_traffic, why_model_broke
from karat.evidence.models.traffic import ModelExchange, ModelTraffic
from karat.model.suite import Case
from karat.model.trace import Trace
from karat.targets.base import RunContext, TargetError
from karat.targets.config import TargetConfig, place_of
from karat.targets.otlp.options import Models
from karat.text.wording import shorten, visible


class ModelEvidence:
    """Reads the traffic of each run of a case; what was seen in one case may explain another."""

    def __init__(self, config: TargetConfig, models: Models) -> None:
        self._config = config
        self._models = models
        self._structured = False
        self._silent = True
        self._reported = False

    def join(self, trace: Trace, traffic: ModelTraffic, case: Case, context: RunContext) -> Trace:
        """The trace, and each of its turns, with what the traffic shows."""
        turns = self._by_turn(traffic, case, context)
        answers = answers_by_turn(trace, len(turns))
        readings = [read_traffic(traffic, *both) for both in zip(turns, answers, strict=True)]
        self._structured = self._structured or any(reading.structured for reading in readings)
        self._silent = self._silent and not traffic.exchanges
        context.tool_schemas = {**traffic.schemas, **context.tool_schemas}
        judged = len(trace.turns) or 1
        before = [call for reading in readings[:-judged] for call in reading.calls if call.called]
        joined = merge_by_turn(trace, readings[-judged:], self._with)
        return structs.replace(joined, setup_calls=tuple(merge_calls(joined.setup_calls, before))) if before else joined

    def refuse_broken(self, trace: Trace, traffic: ModelTraffic, case: Case, context: RunContext) -> None:
        """Raise TargetError if the model service failed last: the answer proves nothing about the agent.

        Where the case asks for faults, what the agent makes of them is what is judged.
        """
        broke = "" if case.faults else why_model_broke(self._by_turn(traffic, case, context)[-1])
        if broke:
            message = f"the last request to the model failed: {visible(shorten(broke, 200))}"
            raise TargetError("backend", message, partial=trace)

    def news(self, place: str) -> list[str]:
        """What is to be reported once: that the agent sends nothing."""
        if not self._silent or self._reported:
            return []
        self._reported = True
        where = place_of(self._config, "telemetry") or f"[targets.{self._config.name or self._config.use}.telemetry]"
        what = f"no request to a model has reached {place}: does the agent read its address from the environment"
        return [f"{where}: {what} (OPENAI_BASE_URL and the others that docs/tape.md lists)?"]

    def _with(self, turn: Trace, reading: TurnEvidence) -> Trace:
        return merge_evidence(turn, reading, vouched=self._models.complete, structured=self._structured)

    def _by_turn(self, traffic: ModelTraffic, case: Case, context: RunContext) -> list[list[ModelExchange]]:
        """The exchanges of each turn, those of setup prompts first."""
        began = [turn.began for turn in context.trace_context.turns]
        found: list[list[ModelExchange]] = [[] for _ in began] or [[]]
        said = (*case.setup_prompts, case.prompt) if case.setup_prompts and not case.is_conversation else ()
        for exchange in list(traffic.exchanges):
            place = max((place for place, start in enumerate(began) if start <= exchange.began), default=0)
            # A program that has all prompts may be ahead of what was read of its answers.
            named = [at for at, prompt in enumerate(said[: len(found)]) if prompt in exchange.prompt]
            named = [at for at in named if said[at] == exchange.prompt] or named
            found[named[0] if len(named) == 1 else place].append(exchange)
        return found
