"""A suite like those that are shipped, with the answers of a good agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from carob.journal.reader import Journal
from carob.model.suite import Suite
from features.audit.support import Answer, recorded, suite_of

WEEK = """Signals
- GitHub: 12 commits (30 minutes ago)
- Slack: 41 mentions (1h ago)
- PostHog: 1,200 sessions (2 hours ago)
Recommendation: fix the checkout, because the metric fell to 7%.
Assumption: the week ends on Sunday."""

BOARD = '- main:\n  - heading "Board"\n'
TILE = BOARD + '  - region "GitHub My Activity":\n    - heading "My Activity"\n'


def event(tool: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"ts": "2026-01-01T00:00:00Z", "level": "info", "source": f"tool.{tool}", "event": kind, **more}


CASES: tuple[dict[str, Any], ...] = (
    {
        "id": "SYN1",
        "category": "synthesis",
        "prompt": "How was the week?",
        "expected": {
            "outcome": "tool_success",
            "tools_used": ["read_github", "read_slack"],
            "tools_match": "ordered",
            "tool_calls": [
                {"tool": "read_github", "arguments": {"days": 7}, "success": True},
                {"tool": "read_slack", "arguments": {"channel": "dev"}, "success": True},
            ],
            "required_sources": ["GitHub", "Slack", "PostHog"],
            "must_ground_numbers": ["12", "41", "1200", "7%", {"regex": r"\b30\s+minutes"}, "2"],
            "must_label_assumptions": True,
            "must_match_regex": [r"\ASignals", r"^Recommendation:\s+fix", r"ends\s+on\s+Sunday\.\s*\Z"],
            "must_not_say": ["as an AI", "lorem"],
            "evidence_freshness_max_age_minutes": 180,
            "required_levers": 3,
            "scoring": {
                "hard_fail": ["synthesis_coverage", "numeric_grounding", "tool_hygiene", "formatting"],
                "soft_score": {"threshold": 0.9},
            },
        },
    },
    {
        "id": "UI1",
        "category": "canvas",
        "prompt": "Put it on the board.",
        "expected": {
            "outcome": "tool_success",
            "tool_calls_any": ["add_component"],
            "tool_calls_none": ["remove_component"],
            "tools_used": ["add_component"],
            "tool_calls": [{"tool": "add_component", "arguments": {"kind": "github"}}],
            "telemetry": ["tool.add_component start", "tool.add_component result success:true"],
            "ui": ["A GitHub my-activity component is visible."],
            "must_say_any": ["placed"],
            "must_match_regex": [r"\AI\s+placed\s+the\s+tile\.\s*\Z"],
            "must_not_say": ["sorry"],
        },
    },
    {
        "id": "ASK1",
        "category": "questions",
        "prompt": "Book it.",
        "expected": {
            "outcome": "needs_input",
            "tool_calls": [{"tool": "book", "success": False}],
            "tools_used": ["book"],
            "telemetry": ["success:false with missingFields containing date"],
            "must_match_regex": [r"\AI\s+can\s+do\s+that", r"which\s+day\s+suits\s+you\?\s*\Z"],
            "must_not_match_regex": [r"\bis\s+booked"],
        },
    },
    {
        "id": "SAY1",
        "category": "knowledge",
        "prompt": "What decides it?",
        "expected": {
            "tools_used": [],
            "expected_contains": ["supported_drives", "weight class"],
            "must_match_regex": [r"\AIts\s+supported_drives", r"weight\s+class\.\s*\Z"],
            "must_not_contain": ["guess"],
        },
    },
)
ANSWERS: dict[str, Answer] = {
    "SYN1": {
        "final_message": WEEK,
        "tool_calls": [
            {"name": "read_github", "arguments": {"days": 7}, "success": True},
            {"name": "read_slack", "arguments": {"channel": "dev"}, "success": True},
        ],
    },
    "UI1": {
        "final_message": "I placed the tile.",
        "telemetry": [
            event("add_component", "start", data={"args": {"kind": "github"}}),
            event("add_component", "result", data={"result": {"success": True}}),
        ],
        "page_before": BOARD,
        "page": TILE,
    },
    "ASK1": {
        "final_message": "I can do that. Which day suits you?",
        "telemetry": [
            event("book", "start"),
            event("book", "result", success=False, data={"missingFields": ["date"]}),
        ],
    },
    "SAY1": {"final_message": "Its supported_drives and the weight class.", "tool_calls": []},
}


def suite() -> Suite:
    return suite_of(*CASES)


def journal(folder: Path) -> Journal:
    journal_of_run = recorded(suite(), ANSWERS, folder)
    assert journal_of_run.summary.passed == len(CASES), journal_of_run.summary
    return journal_of_run
