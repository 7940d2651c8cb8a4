"""The coding agents that have a preset, by the word before the colon."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from carob.features.coding.agents.claude_code import ClaudeCode
from carob.features.coding.agents.codex import Codex
from carob.features.coding.agents.gemini import GeminiCli
from carob.features.coding.agents.mini_swe_agent import MiniSweAgent
from carob.features.coding.agents.opencode import OpenCode
from carob.features.coding.agents.program import AgentProgram
from carob.targets.config import TargetConfig

PROGRAMS: Mapping[str, type[AgentProgram]] = {
    agent.name: agent for agent in (ClaudeCode, Codex, GeminiCli, OpenCode, MiniSweAgent)
}


def with_preset(config: TargetConfig) -> TargetConfig:
    """The configuration with the files that the program writes by itself."""
    agent = PROGRAMS[config.kind]
    return structs.replace(config, own_files=agent.own_files, ignore_files=(*config.ignore_files, *agent.made_files))
