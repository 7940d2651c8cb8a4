"""`agentevals:module:evaluator`: what `create_trajectory_match_evaluator` and its like give, called with messages.

The reference is `reference_outputs` of the metadata of the conversation, and the recorded messages without it.
"""

from __future__ import annotations

from carob.features.graders.adapters.base import Judge, Loader, read_mapping
from carob.features.graders.adapters.python import call_by_names
from carob.features.graders.forms import GraderInput


def build(name: str, loader: Loader) -> Judge:
    import agentevals  # type: ignore[import-not-found,unused-ignore]  # noqa: F401  # says that it is missing

    evaluator = loader.load(name)
    by_names = _by_names(evaluator, name)

    def judge(given: GraderInput) -> object:
        value = by_names(given)
        if isinstance(value, list):  # one result per key
            return read_mapping({str(each.get("key", at)): each.get("score") for at, each in enumerate(value)})
        return value

    return judge


def _by_names(evaluator: object, name: str) -> Judge:
    """Evaluators are made with `**kwargs` for what they do not need, so their names do not say all."""
    import inspect

    parameters = inspect.signature(evaluator).parameters.values() if callable(evaluator) else ()
    if any(p.kind is p.VAR_KEYWORD for p in parameters) and callable(evaluator):

        def judge(given: GraderInput) -> object:
            return evaluator(
                inputs=given.part("inputs"),
                outputs=given.part("outputs"),
                reference_outputs=given.part("reference_outputs"),
            )

        return judge
    return call_by_names(evaluator, f"agentevals:{name}")
