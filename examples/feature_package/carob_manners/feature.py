"""All that Carob knows of this feature. Names, not objects: nothing else is imported before it is used."""

from __future__ import annotations

from carob import CheckPlace, Command, Feature, McpTool, Page, SuiteFormat, TargetKind

FEATURE = Feature(
    name="manners",
    summary="keeps an agent polite",
    commands=(Command("manners", "Manners", "Show the loudest answers of a run.", "carob_manners.cli:command"),),
    checks=(CheckPlace("max_exclamations", "carob_manners.check:MaxExclamations"),),
    targets=(TargetKind("parrot", "carob_manners.target:Parrot", "parrot:Hello"),),
    formats=(SuiteFormat("playbook", "carob_manners.format:Playbook"),),
    reports={"tsv": "carob_manners.report:TsvReport"},
    settings={"manners": "carob_manners.settings:MannersTable"},
    library={"loud_answers": "carob_manners.loudness:loud_answers"},
    pages=(Page("/run/{key}/manners", "carob_manners.page:manners_page", "Manners"),),
    mcp_tools=(McpTool("manners", "Find loud answers", "carob_manners.cli:describe"),),
)
