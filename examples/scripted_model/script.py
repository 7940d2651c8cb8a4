"""A script: rules in YAML, each with the requests that it matches and the answer that it gives."""

import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from scripted_model.conversation import Answer, Call, Conversation

FINISHES = ("stop", "calls", "length", "filter")
_hole = re.compile(r"\$\{(\w+)(:number)?\}")


class ScriptError(ValueError):
    """A script that cannot be used."""


@dataclass(frozen=True, slots=True)
class When:
    """The requests that a rule matches; what is not set matches everything, except `results`."""

    user: str = ""
    system: str = ""
    asked: str = ""
    """A pattern in anything that the user said."""
    turn: int = 0
    answered: int | None = None
    """Results in the whole conversation; with it, `results` matches everything unless it is set."""
    results: Any = field(default_factory=dict)
    """Results since the user last spoke: a pattern for each tool (these tools and no other), a count, or `any`."""

    def match(self, said: Conversation) -> dict[str, str] | None:
        """The named groups of the patterns if the request matches."""
        looked = [(self.user, said.users[-1] if said.users else ""), (self.system, said.system)]
        looked.append((self.asked, "\n".join(said.users)))
        if self.turn and self.turn != len(said.users):
            return None
        if self.answered is not None and self.answered != said.answered:
            return None
        if isinstance(self.results, int) and self.results != len(said.results):
            return None
        if isinstance(self.results, dict) and (self.results or self.answered is None):
            last = dict(said.results)
            if last.keys() != self.results.keys():
                return None
            looked += [(pattern, last[name]) for name, pattern in self.results.items()]
        groups: dict[str, str] = {}
        for pattern, text in looked:
            found = re.search(pattern, text, re.IGNORECASE | re.DOTALL)
            if found is None:
                return None
            groups |= {name: value or "" for name, value in found.groupdict().items()}
        return groups

    def check(self) -> set[str]:
        """The names that the patterns take out of a request."""
        patterns = [self.user, self.system, self.asked]
        if isinstance(self.results, dict):
            patterns += self.results.values()
        elif self.results != "any" and not isinstance(self.results, int):
            raise ScriptError(f"`results` is {self.results!r}; write tool: pattern, a count, or any")
        try:
            return {name for pattern in patterns for name in re.compile(pattern).groupindex}
        except (re.error, TypeError) as error:
            raise ScriptError(f"{error} in a pattern") from None


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a script."""

    when: When
    say: Any = ""
    """Words, or a mapping that is written as JSON."""
    call: list[dict[str, dict[str, Any]]] = field(default_factory=list)
    status: int = 200
    delay: float = 0.0
    cut: int | None = None
    """How many pieces are sent before the connection is closed."""
    times: int | None = None
    """How many requests the rule answers; later ones go to the rules after it."""
    finish: str = ""
    usage: dict[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, raw: object) -> "Rule":
        """A rule from its YAML."""
        if not isinstance(raw, dict):
            raise ScriptError("not a mapping")
        given = dict(raw)
        try:
            when = When(**(given.pop("when", None) or {}))
            calls = given.pop("call", [])
            rule = cls(when=when, call=calls if isinstance(calls, list) else [calls], **given)
        except TypeError as error:
            raise ScriptError(str(error).split("() ")[-1]) from None
        if not (rule.say or rule.call or rule.status != 200):
            raise ScriptError("no answer: add `say`, `call` or `status`")
        if rule.finish and rule.finish not in FINISHES:
            raise ScriptError(f"`finish` is {rule.finish!r}; it is one of {', '.join(FINISHES)}")
        if not all(isinstance(call, dict) and all(isinstance(to, dict) for to in call.values()) for call in rule.call):
            raise ScriptError("`call` is not `tool: {argument: value}`, or a list of such")
        used = {name for name, _ in _hole.findall(json.dumps([rule.say, rule.call], default=str))}
        if unknown := used - when.check():
            raise ScriptError(f"${{{min(unknown)}}} is not a named group of the patterns in `when`")
        return rule

    def answer(self, said: Conversation, groups: Mapping[str, str], number: int) -> Answer:
        """The answer to a request that matched."""
        say = _fill(self.say, groups)
        text = say if isinstance(say, str) else json.dumps(say, ensure_ascii=False)
        named = [(name, _fill(arguments, groups)) for call in self.call for name, arguments in call.items()]
        calls = tuple(Call(f"call_{number}_{at}", name, arguments) for at, (name, arguments) in enumerate(named, 1))
        spoken = len(text.split()) + sum(len(json.dumps(call.arguments).split()) for call in calls)
        return Answer(
            f"scripted-{number}", said.model or "scripted", text, calls,
            self.finish or ("calls" if calls else "stop"),
            self.usage.get("input", said.words), self.usage.get("output", spoken),
        )  # fmt: skip


class Script:
    """The rules, in order; the first that matches answers."""

    def __init__(self, raw: object, name: str) -> None:
        self.name = name
        rules = raw.get("rules") if isinstance(raw, dict) else None
        if not isinstance(rules, list) or not rules:
            raise ScriptError(f"{name}: `rules` is not a list of rules.")
        self.rules: list[Rule] = []
        for number, rule in enumerate(rules, 1):
            try:
                self.rules.append(Rule.read(rule))
            except ScriptError as error:
                raise ScriptError(f"{name}: rule {number}: {error}.") from None
        self._used = [0] * len(self.rules)
        self._lock = threading.Lock()

    @classmethod
    def load(cls, source: "Path | str | Mapping[str, Any]") -> "Script":
        """A script from a file, or from what such a file would hold."""
        if isinstance(source, Mapping):
            return cls(source, "script")
        try:
            return cls(yaml.safe_load(Path(source).read_text("utf-8")), str(source))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise ScriptError(f"{source}: {error}") from None

    def choose(self, said: Conversation) -> tuple[Rule, dict[str, str]] | None:
        """The first rule that matches and is not used up, with the named groups."""
        with self._lock:
            for at, rule in enumerate(self.rules):
                if rule.times is not None and self._used[at] >= rule.times:
                    continue
                groups = rule.when.match(said)
                if groups is not None:
                    self._used[at] += 1
                    return rule, groups
        return None

    def explain(self, said: Conversation) -> str:
        """Why no answer is given, with what a rule would have to match."""
        results = "; ".join(f"{name}: {text[:200]!r}" for name, text in said.results) or "none"
        return (
            f"scripted model: no rule of {self.name} matches. Turn {len(said.users)}, last words of the user: "
            f"{said.users[-1][:200] if said.users else ''!r}, tool results since then: {results}. Add a rule for it."
        )


def _fill(value: Any, groups: Mapping[str, str]) -> Any:
    """The value with `${name}` replaced; `${name:number}` alone becomes a number."""
    if isinstance(value, dict):
        return {key: _fill(item, groups) for key, item in value.items()}
    if isinstance(value, list):
        return [_fill(item, groups) for item in value]
    if not isinstance(value, str):
        return value
    whole = _hole.fullmatch(value)
    if whole and whole[2]:
        number = float(groups[whole[1]].replace(",", ""))
        return int(number) if number.is_integer() else number
    return _hole.sub(lambda found: groups[found[1]], value)
