"""The coding agents that have a preset, by the word before the colon."""

from __future__ import annotations

from collections.abc import Mapping

from karat.targets.coding_agents.claude_code import ClaudeCode
from karat.targets.coding_agents.codex import Codex
from karat.targets.coding_agents.gemini import GeminiCli
from karat.targets.coding_agents.mini_swe_agent import MiniSweAgent
from karat.targets.coding_agents.opencode import OpenCode
from karat.targets.coding_agents.program import AgentProgram

PROGRAMS: Mapping[str, type[AgentProgram]] = {
    agent.name: agent for agent in (ClaudeCode, Codex, GeminiCli, OpenCode, MiniSweAgent)
}
