"""The traffic of an agent with its models, as evidence of what it did in a case."""

from __future__ import annotations

from msgspec import structs

from karat.evidence.call_pairs import merge_calls
from karat.evidence.merge import TurnEvidence, answers_by_turn, merge_by_turn, merge_evidence
from karat.evidence.model_evidence import read_traffic, why_model_failed
from karat.evidence.model_traffic import ModelExchange, ModelTraffic
from karat.model.suite import Case
from karat.model.trace import Trace
from karat.targets.base import RunContext, TargetError
from karat.targets.config import TargetConfig, place_of
from karat.targets.wrappers.telemetry import Models
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
        evidence = [read_traffic(traffic, *pair) for pair in zip(turns, answers, strict=True)]
        self._structured = self._structured or any(of_turn.structured for of_turn in evidence)
        self._silent = self._silent and not traffic.exchanges
        context.tool_schemas = {**traffic.schemas, **context.tool_schemas}
        judged = len(trace.turns) or 1
        setup_calls = [call for of_turn in evidence[:-judged] for call in of_turn.calls if call.called]
        merged = merge_by_turn(trace, evidence[-judged:], self._merge)
        if not setup_calls:
            return merged
        return structs.replace(merged, setup_calls=tuple(merge_calls(merged.setup_calls, setup_calls)))

    def refuse_broken(self, trace: Trace, traffic: ModelTraffic, case: Case, context: RunContext) -> None:
        """Raise TargetError if the model service failed last: the answer proves nothing about the agent.

        Where the case asks for faults, what the agent makes of them is what is judged.
        """
        failure = "" if case.faults else why_model_failed(self._by_turn(traffic, case, context)[-1])
        if failure:
            message = f"the last request to the model failed: {visible(shorten(failure, 200))}"
            raise TargetError("backend", message, partial=trace)

    def news(self, address: str) -> list[str]:
        """What is to be reported once: that the agent sends nothing."""
        if not self._silent or self._reported:
            return []
        self._reported = True
        where = place_of(self._config, "telemetry") or f"[targets.{self._config.name or self._config.use}.telemetry]"
        cause = f"no request to a model has reached {address}: does the agent read its address from the environment"
        return [f"{where}: {cause} (OPENAI_BASE_URL and the others that docs/tape.md lists)?"]

    def _merge(self, turn: Trace, evidence: TurnEvidence) -> Trace:
        return merge_evidence(turn, evidence, vouched=self._models.complete, structured=self._structured)

    def _by_turn(self, traffic: ModelTraffic, case: Case, context: RunContext) -> list[list[ModelExchange]]:
        """The exchanges of each turn, those of setup prompts first."""
        starts = [turn.began for turn in context.trace_context.turns]
        turns: list[list[ModelExchange]] = [[] for _ in starts] or [[]]
        prompts = (*case.setup_prompts, case.prompt) if case.setup_prompts and not case.is_conversation else ()
        for exchange in list(traffic.exchanges):
            by_time = max((index for index, start in enumerate(starts) if start <= exchange.began), default=0)
            # A program that has all prompts may be ahead of what was read of its answers.
            matches = [index for index, prompt in enumerate(prompts[: len(turns)]) if prompt in exchange.prompt]
            matches = [index for index in matches if prompts[index] == exchange.prompt] or matches
            turns[matches[0] if len(matches) == 1 else by_time].append(exchange)
        return turns
