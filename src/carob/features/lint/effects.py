"""Entries of `effects` that no sentence claims, and lists of permitted effects that forbid nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import regex

from carob.checks.effects.permitted import OnlyEffects
from carob.features.lint.base import LintCase, Rule, Smell, TargetInfo
from carob.text.prose.claims import claims
from carob.text.tool_names import ANY_EFFECT, NO_TOOL, is_any_named
from carob.text.wording import quoted
from carob.text.words import PUBLISHED, WordLists

CLAIM = "I have {wording} it. It has been {wording}. It is now {wording}. {wording}"
"""Sentences of the published frames: what they do not claim, none does."""
GERUND = regex.compile(r"\p{L}{2,}ing")
NOUN = regex.compile(r"\p{L}{3,}(?:tion|sion|ment|ance|ence|ity|ness)s?")
PARTICIPLE = regex.compile(r"\p{L}+(?:ed|en|wn|ught|old|ent|aid|ade|one|un|ut|et|ost|ept|ft|ound|ung|orn)")
INFINITIVES = frozenset(PUBLISHED.entries("infinitives"))
"""Verbs as they are in the names of tools. Those that are participles as well (`put`, `set`) are not reported."""
BOTH = frozenset(("set", "put", "reset", "cut", "let", "shut", "split", "complete", "open", "clear", "void", "close"))


def find_unclaimable(cases: Sequence[LintCase]) -> Iterator[Smell]:
    """Entries of `effects` that claim nothing as they are written. They are those of the suite: once is enough."""
    seen: set[tuple[str, str]] = set()
    for case in cases:
        for part in (case, *case.turns):
            lists = WordLists.of(part.expected.get("words", {}))
            for tool, wordings in part.expected.get("effects", {}).items():
                for index, wording in enumerate(wordings):
                    why = _why_unclaimable(wording, lists)
                    if why and (tool, wording) not in seen:
                        seen.add((tool, wording))
                        yield (*part.where("effects"), tool, index), why


def _why_unclaimable(wording: str, lists: WordLists) -> str:
    words = wording.lower().split()
    if "*" in wording:
        return (
            f"no sentence can claim {quoted(wording)}: words have no wildcard. Write the participle, such as refunded."
        )
    if not claims(CLAIM.format(wording=wording), {"tool": [wording]}, lists):
        return f"no sentence can claim {quoted(wording)} in any published frame. Write a participle, such as refunded."
    if lists is not PUBLISHED and lists != PUBLISHED:
        return ""  # its own frames say what forms its words have
    first = words[0]
    if first == "to" or (first in INFINITIVES - BOTH and not PARTICIPLE.fullmatch(first)):
        return f"no sentence can claim {quoted(wording)}: it is not a participle, such as {_participle(words)}."
    if len(words) == 1 and (GERUND.fullmatch(first) or NOUN.fullmatch(first)):
        return (
            f"no sentence can claim {quoted(wording)}: it is not a participle. Write one (refunded) or all words of "
            "the claim, such as 'booking is confirmed'."
        )
    return ""


def _participle(words: Sequence[str]) -> str:
    verb = words[1] if words[0] == "to" and len(words) > 1 else words[0]
    irregular = {"send": "sent", "pay": "paid", "make": "made", "buy": "bought", "sell": "sold", "write": "written"}
    if verb in irregular or verb == "do":
        return irregular.get(verb, "done")
    return f"{verb}d" if verb.endswith("e") else f"{verb}led" if verb == "cancel" else f"{verb}ed"


def find_open_permissions(case: LintCase, _: TargetInfo) -> Iterator[Smell]:
    """`only_effects` that permits every declared effect."""
    for placed in case.of(OnlyEffects):
        permitted = placed.args["tools"]
        declared = [tool for tool in placed.args.get("effects", ()) if tool not in (ANY_EFFECT, NO_TOOL)]
        if declared and all(ANY_EFFECT in permitted or is_any_named(permitted, tool) for tool in declared):
            message = "it permits every tool of `effects`, so that no call can fail it."
            yield placed.path, f"{message} Leave out what must not happen, or write [] for none."


RULES = (Rule("vacuous-prohibition", find_open_permissions),)
