"""The coding agents that have a preset, by the word before the colon."""

from __future__ import annotations

from collections.abc import Mapping

from carob.targets.coding_agents.claude_code import ClaudeCode
from carob.targets.coding_agents.codex import Codex
from carob.targets.coding_agents.gemini import GeminiCli
from carob.targets.coding_agents.mini_swe_agent import MiniSweAgent
from carob.targets.coding_agents.opencode import OpenCode
from carob.targets.coding_agents.program import AgentProgram

PROGRAMS: Mapping[str, type[AgentProgram]] = {
    agent.name: agent for agent in (ClaudeCode, Codex, GeminiCli, OpenCode, MiniSweAgent)
}
