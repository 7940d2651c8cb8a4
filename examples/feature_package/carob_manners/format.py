"""Playbooks: what a support team writes down for its people, a scene per kind of customer."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict

from msgspec import Meta

from carob import Format, ParsedSuite, SuiteBuilder, SuiteCatalog, SuiteFile

Text = Annotated[str, Meta(min_length=1)]


class Rule(TypedDict):
    """One thing that the agent says or keeps to."""

    says: NotRequired[Annotated[Text, Meta(description="Words of the answer.")]]
    exclamations: NotRequired[Annotated[int, Meta(ge=0, description="The most '!' that the answer has.")]]
    never: NotRequired[Annotated[bool, Meta(description="Whether the opposite is meant.")]]
    weight: NotRequired[Annotated[float, Meta(gt=0, description="How much it counts.")]]


class Scene(TypedDict):
    """What one customer says, and how the agent answers."""

    scene: Annotated[Text, Meta(description="A name that no other scene has.")]
    customer: Annotated[Text, Meta(description="What the customer says.")]
    agent: Annotated[list[Rule], Meta(min_length=1, description="What holds for the answer.")]
    passes_at: NotRequired[Annotated[float, Meta(gt=0, le=1, description="The share of the weights to reach.")]]


class PlaybookFile(TypedDict):
    """A playbook."""

    playbook: Annotated[Text, Meta(description="What it is about.")]
    desk: NotRequired[Annotated[Text, Meta(description="Who answers: the target, unless another one is named.")]]
    scenes: Annotated[list[Scene], Meta(min_length=1, description="The scenes.")]


class Playbook(Format):
    name = "playbook"
    title = "Support playbook"
    description = "an object with 'playbook' and 'scenes' (playbook)"
    shape = PlaybookFile

    def recognizes(self, file: SuiteFile) -> bool:
        return isinstance(file.tree, dict) and "playbook" in file.tree

    def read(self, file: SuiteFile, catalog: SuiteCatalog) -> ParsedSuite:
        suite = SuiteBuilder(file, catalog)
        suite.diagnostics += self.validate(file.tree)
        if suite.diagnostics:
            return suite.build()
        for index, scene in enumerate(file.tree["scenes"]):
            path = ("scenes", index)
            case = suite.case(scene["scene"], scene["customer"], path, category="scene")
            case.threshold = scene.get("passes_at")
            for number, rule in enumerate(scene["agent"]):
                at = (*path, "agent", number)
                weight = rule.get("weight", 1.0) if "passes_at" in scene else None
                how: dict[str, Any] = {"negated": rule.get("never", False), "weight": weight}
                if "says" in rule:
                    case.check("must_say_any", {"phrases": [rule["says"]]}, at, **how)
                elif "exclamations" in rule:
                    case.check("max_exclamations", {"most": rule["exclamations"]}, at, **how)
                else:
                    suite.problem(at, "the rule asks for nothing. Write 'says' or 'exclamations'.", "no-checks")
        return suite.build(name=file.tree["playbook"], target=file.tree.get("desk", ""))
