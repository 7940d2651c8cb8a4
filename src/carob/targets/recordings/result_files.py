"""Which result of another tool is of which case: by its name, or by what the user said where a file has no names."""

from __future__ import annotations

import json
from collections.abc import Sequence

import jiter

from carob.errors import ConfigError
from carob.evidence.exports.record import RecordedCase
from carob.model.suite import Case
from carob.text.wording import did_you_mean, join_words

IDENTITY = "identity"
"""The key of a case's metadata that distinguishes it from cases in which the user says the same."""
ALIKE = "alike"
"""Of an identity: which of so many cases it is that nothing else distinguishes, from 0. Their results are in order."""


class RecordedAnswers:
    """The results of a file that does not name its cases, by what the user said."""

    def __init__(self, results: Sequence[RecordedCase], provider: str | None) -> None:
        """Those of one provider. Raises ConfigError if it is not clear of which."""
        providers = sorted({result.provider for result in results})
        if provider is None and len(providers) > 1:
            fix = f"Choose one in carob.toml: `options.provider = {json.dumps(providers[0])}` next to `use`."
            raise ConfigError(f"the results are of {len(providers)} providers: {', '.join(providers)}.", fix=fix)
        if provider is not None and provider not in providers:
            near = did_you_mean(provider, providers) or f"Known: {', '.join(providers)}."
            raise ConfigError(f"no result is of the provider {provider!r}.", fix=near)
        self._found: dict[tuple[str, ...], list[RecordedCase]] = {}
        for result in results:
            if provider in (None, result.provider):
                self._found.setdefault(normalize_said(result.said), []).append(result)

    def find(self, case: Case, repeat: int) -> RecordedCase | None:
        """What was recorded of a case. Raises ValueError if several results may be it."""
        if not case.turns:
            return self._pick(case, [(*case.setup_prompts, case.prompt), (case.prompt,)], repeat)
        prompts = [turn.prompt for turn in case.turns]
        forms = []
        for number, prompt in enumerate(prompts):
            # Said again in one conversation, it was answered again: the results are in the order of the turns.
            place = repeat * prompts.count(prompt) + prompts[:number].count(prompt)
            result = self._pick(case, [tuple(prompts[: number + 1]), (prompt,)], place)
            if result is None:
                return None
            forms.append(result.form)
        return RecordedCase(case.id, {"turns": forms}, repeat)

    def _pick(self, case: Case, said: Sequence[tuple[str, ...]], place: int) -> RecordedCase | None:
        candidates: list[RecordedCase] = next(
            (found for one in said if (found := self._found.get(normalize_said(one)))), []
        )
        known = case.metadata.get(IDENTITY)
        if isinstance(known, dict):
            known = dict(known)
            number, count = known.pop(ALIKE, (0, 1))
            if len(candidates) > 1 and not all(known.keys() <= one.identity.keys() for one in candidates):
                raise ValueError(f"several results have its prompt, and do not all name {join_words([*known], 'and')}")
            candidates = [one for one in candidates if all(one.identity.get(key, v) == v for key, v in known.items())]
            if len(candidates) % count or (count > 1 and not all(one.number for one in candidates)):
                raise ValueError(
                    f"{count} cases are the same, and which of {len(candidates)} results is whose is unknown"
                )
            own = len(candidates) // count
            candidates = candidates[number * own :][:own]
        elif not case.turns and any(one.identity != candidates[0].identity for one in candidates):
            raise ValueError("several results have its prompt, and differ otherwise")
        return candidates[place] if place < len(candidates) else None


def normalize_said(said: tuple[str, ...]) -> tuple[str, ...]:
    """What the user said, however its white space was kept; where it is JSON, too."""
    return tuple(map(_normalize_text, said))


def _normalize_text(text: str) -> str:
    text = text.strip()
    if text[:1] not in ("{", "["):
        return text
    try:
        return json.dumps(jiter.from_json(text.encode()), sort_keys=True)
    except ValueError:
        return text
