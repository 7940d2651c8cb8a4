"""Answers across sources: their form, their numbers, their honesty."""

import json
import re

import pytest
from canvas_support import fresh_workspace
from hypothesis import given
from hypothesis import strategies as st

from canvas_app.brain.language.understand import understand
from canvas_app.brain.rule_based import words_for
from canvas_app.brain.surroundings import look_around
from canvas_app.catalog import Source
from canvas_app.signals.report import measure
from canvas_app.store.workspace import Workspace
from canvas_app.synthesis.conflicts import conflicts_in
from canvas_app.synthesis.risk import risk_reasons, risk_score
from canvas_app.synthesis.wishes import Wishes, read_wishes
from canvas_app.tools.registry import run_tool


def ask(workspace: Workspace, message: str) -> str:
    return "\n\n".join(words_for(workspace, step) for step in understand(message, look_around(workspace)))


def at(space: str, off: tuple[Source, ...] = ()) -> Workspace:
    workspace = fresh_workspace(off=off)
    run_tool(workspace, "switch_space", {"name": space})
    return workspace


@pytest.mark.parametrize(
    ("message", "wishes"),
    [
        ("just tell me", Wishes()),
        ("First line RISK_SCORE: <0-100>", Wishes(scores=("RISK_SCORE",))),
        ("RISK_SCORE and CONFIDENCE_SCORE please", Wishes(scores=("RISK_SCORE", "CONFIDENCE_SCORE"))),
        ('Two sections, "Signals" and "Recommendation".', Wishes(sections=("Signals", "Recommendation"))),
        ("Use the headings Signals, Conflicts, Next Steps", Wishes(sections=("Signals", "Conflicts", "Next Steps"))),
        ("Format:\nSignals\nRecommendation", Wishes(sections=("Signals", "Recommendation"))),
        ('A section "Weather" and a section "Signals"', Wishes(sections=("Weather", "Signals"))),
        ("What are the signals and your recommendation?", Wishes()),
        ("don't format, it's fine, can't you?", Wishes()),
        ("write GitHub: <n> commits", Wishes(shapes={Source.GITHUB: "commits"})),
        (
            "Slack: N mentions, PostHog: [count] signups",
            Wishes(shapes={Source.SLACK: "mentions", Source.POSTHOG: "signups"}),
        ),
        ("in three bullets", Wishes(bullets=3)),
        ("give me 5 bullet points", Wishes(bullets=5)),
        ("in one sentence", Wishes(one_sentence=True)),
        ("Answer in JSON", Wishes(as_json=True)),
        ("with the age of each number", Wishes(ages=True)),
    ],
    ids=lambda value: str(value)[:40],
)
def test_the_form_that_is_asked_for_is_read(message: str, wishes: Wishes) -> None:
    assert read_wishes(message) == wishes


@given(st.text(max_size=300))
def test_reading_a_form_never_fails(message: str) -> None:
    read_wishes(message)


def test_a_strict_layout_is_kept() -> None:
    answer = ask(
        at("Home"),
        'Assess the risk from GitHub, Slack and PostHog. First line "RISK_SCORE: <0-100>", then the sections '
        '"Signals" and "Recommendation". In Signals one line per source, such as "GitHub: <n> commits".',
    )
    assert re.fullmatch(
        r"RISK_SCORE: \d{1,3}\n\n"
        r"Signals\nGitHub: 12 commits\nSlack: 5 mentions\nPostHog: 57 signups\n\n"
        r"Recommendation\n[^\n]+ because [^\n]+",
        answer,
    )


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("Compare sources, write Slack: <n> unanswered", "Slack: 2 unanswered mentions"),
        ("Compare sources, write GitHub: <n> open bugs", "GitHub: 3 open bugs"),
        ("Compare sources this week, write GitHub: <n> commits", "GitHub: 45 commits"),
        ("Compare sources, write PostHog: <n> exceptions", "PostHog: 14 exceptions"),
        (
            "Compare sources with the age of each, write Vercel: <n> failed deployments",
            "Vercel: 1 failed deployment (4 minutes ago)",
        ),
        ("Compare GitHub and Slack", "Slack: 5 mentions of you today (2 yesterday), 2 unanswered;"),
    ],
)
def test_a_line_holds_the_number_that_is_asked_for(message: str, line: str) -> None:
    assert line in ask(at("Home"), message)


def test_only_the_sources_that_are_named_are_spoken_of() -> None:
    answer = ask(at("Home"), "Compare GitHub and PostHog")
    assert "GitHub:" in answer
    assert "PostHog:" in answer
    assert "Slack" not in answer
    assert "Vercel" not in answer


@pytest.mark.parametrize(
    ("space", "off", "words"),
    [
        ("Back Office", (), ["Slack: 0 messages this week", "ASSUMPTION 1: Slack has no data", "cannot verify"]),
        (
            "Back Office",
            (),
            ["26 hours ago, stale", "ASSUMPTION 2: PostHog was last synced 26 hours ago", "may be stale"],
        ),
        ("Home", (Source.SLACK,), ["Slack: switched off", "ASSUMPTION 1: Slack is switched off"]),
        ("Home", tuple(Source), ["RISK_SCORE: unknown (not enough data)", "Not enough data", "Low confidence: 0 of 4"]),
    ],
    ids=["empty", "stale", "off", "all-off"],
)
def test_what_is_missing_is_an_assumption(space: str, off: tuple[Source, ...], words: list[str]) -> None:
    answer = ask(at(space, off), "Summarize the risk across all sources")
    assert [word for word in words if word not in answer] == []


def test_a_source_that_is_not_connected_is_an_assumption() -> None:
    answer = ask(at("Home"), "Compare Jira and GitHub")
    assert "ASSUMPTION 1: Jira is not connected here, so I cannot see it." in answer
    assert "Medium confidence: 1 of 2 sources fresh." in answer
    assert "Jira:" not in answer


def test_no_assumption_is_made_up_where_everything_is_fresh() -> None:
    assert "ASSUMPTION" not in ask(at("Home"), "Summarize the risk across all sources")
    assert "none needed" in ask(at("Home"), "Summarize the risk and label your assumptions")


@pytest.mark.parametrize(
    ("space", "starts"),
    [
        ("Home", []),
        ("Launch Week", ["GitHub shows 21 commits", "PostHog signups are up 40%", "Slack sounds glad (6 messages"]),
        (
            "Back Office",
            ["PostHog (26 hours ago) may be stale", "GitHub shows 4 commits today, but Slack shows nothing"],
        ),
    ],
)
def test_conflicts_are_found_and_settled(space: str, starts: list[str]) -> None:
    workspace = at(space)
    found = conflicts_in(measure(workspace, workspace.spaces.current()))
    assert len(found) == len(starts)
    assert all(text.startswith(start) for text, start in zip(found, starts, strict=True))
    assert all("I go by" in text or "no sign of calm" in text for text in found)


def test_green_deployments_against_rising_exceptions(monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = at("Launch Week")
    monkeypatch.setattr(
        "canvas_app.signals.numbers._of",
        lambda events, kind, **wanted: [] if wanted else [e for e in events if e.kind == kind],
    )
    found = conflicts_in(measure(workspace, workspace.spaces.current()))
    assert any(
        text.startswith("Vercel deployed without a failure, but PostHog counts 138 exceptions") for text in found
    )


@pytest.mark.parametrize(
    ("space", "off", "question", "verdict"),
    [
        ("Home", (), "Are we ready to launch?", "Yes: the risk is"),
        ("Home", (Source.SLACK,), "Are we ready to launch?", "Yes, with care: the risk is"),
        (
            "Home",
            (Source.GITHUB, Source.SLACK, Source.POSTHOG),
            "Are we ready to launch?",
            "I cannot verify that it is safe: only 1 of 4 sources can be relied on.",
        ),
        ("Home", tuple(Source), "Are we ready to launch?", "I cannot verify that it is safe: no source is fresh."),
        ("Launch Week", (), "Is it safe to deploy?", "Not yet: the risk is"),
    ],
)
def test_go_or_no_go(space: str, off: tuple[Source, ...], question: str, verdict: str) -> None:
    assert ask(at(space, off), question).startswith(verdict)


def test_a_source_that_a_rule_leaves_out_gives_no_confidence() -> None:
    workspace = at("Home")
    run_tool(workspace, "set_preference_rule", {"kind": "exclude_source", "value": "slack"})
    assert "Low confidence: 0 of 1 source fresh." in ask(workspace, "Summarize Slack")


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        (
            "Answer in exactly this format: GitHub: <n> commits, Slack: <n> mentions, PostHog: <n> signups",
            "GitHub: 12 commits, Slack: 5 mentions, PostHog: 57 signups",
        ),
        (
            "Use exactly this format:\nVercel: <n> deployments\nGitHub: <n> commits",
            "Vercel: 5 deployments\nGitHub: 12 commits",
        ),
        (
            "Write GitHub: <n> open bugs | Slack: <n> unanswered, nothing else",
            "GitHub: 3 open bugs | Slack: 2 unanswered",
        ),
    ],
)
def test_a_form_that_is_to_be_kept_exactly_is_the_whole_answer(message: str, answer: str) -> None:
    assert ask(at("Home"), message) == answer


def test_what_is_not_known_is_told_beside_an_exact_form() -> None:
    answer = ask(at("Home", (Source.SLACK,)), "In exactly this format: GitHub: <n> commits, Slack: <n> mentions")
    assert answer.splitlines()[0] == "GitHub: 12 commits, Slack: no data"
    assert answer.splitlines()[1].startswith("ASSUMPTION 1: Slack is switched off")


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ("How many open bugs in atlas-api?", "GitHub: 1 open bug in atlas-api (12 minutes ago).\n- atlas-api#317"),
        ("How many commits by jonas this week?", "GitHub: 10 commits by jonas this week (12 minutes ago)."),
    ],
)
def test_a_number_is_counted_over_what_is_named(message: str, answer: str) -> None:
    assert ask(at("Home"), message).startswith(answer)


def test_the_risk_is_the_sum_of_its_reasons() -> None:
    for space in ("Home", "Launch Week", "Back Office"):
        workspace = at(space)
        signals = measure(workspace, workspace.spaces.current())
        assert risk_score(signals) == sum(reason.points for reason in risk_reasons(signals))


def test_launch_week_is_riskier_than_home() -> None:
    scores = []
    for space in ("Home", "Launch Week"):
        workspace = at(space)
        scores.append(risk_score(measure(workspace, workspace.spaces.current())) or 0)
    assert scores[0] < 30 < 60 < scores[1]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6])
def test_so_many_bullets_as_asked_for(count: int) -> None:
    answer = ask(at("Launch Week"), f"How are things going, in {count} bullets")
    assert len(re.findall(r"^- ", answer, re.MULTILINE)) == count
    assert all(name in answer for name in ("GitHub", "Slack", "PostHog", "Vercel"))


def test_one_sentence() -> None:
    answer = ask(at("Home"), "In one sentence, how are things going?")
    assert answer == (
        "GitHub shows 12 commits today, Slack shows 5 mentions today, PostHog shows 57 signups today and "
        "Vercel shows 5 deployments today; the risk is 16 of 100."
    )


def test_json_is_json() -> None:
    told = json.loads(ask(at("Launch Week"), "Answer in JSON: the risk across GitHub and Vercel"))
    assert told["signals"]["github"]["commits_today"] == 21
    assert set(told["signals"]) == {"github", "vercel"}
    assert len(told["conflicts"]) == 1


@pytest.mark.parametrize(
    ("label", "line"),
    [
        ("RISK_SCORE", "RISK_SCORE: 16"),
        ("HEALTH_SCORE", "HEALTH_SCORE: 84"),
        ("CONFIDENCE_SCORE", "CONFIDENCE_SCORE: 100"),
        ("BEAUTY_SCORE", "BEAUTY_SCORE: unknown"),
    ],
)
def test_labels_are_scored_or_said_to_be_unknown(label: str, line: str) -> None:
    assert line in ask(at("Home"), f"Give me {label}")


def test_an_unknown_section_is_not_filled_with_inventions() -> None:
    answer = ask(at("Home"), 'Report with the sections "Signals" and "Horoscope"')
    assert "Horoscope\nNo source here has data for this section." in answer


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ("How many commits this week?", "GitHub: 45 commits this week (12 minutes ago)."),
        ("How many signups yesterday?", "PostHog: 49 signups yesterday (35 minutes ago)."),
        ("how did signups do compared with yesterday?", "PostHog: 57 signups today, 49 yesterday (35 minutes ago)."),
        (
            "Which deployments failed today?",
            "Vercel: 1 failed deployment today, 0 yesterday (4 minutes ago).\n"
            "- atlas-docs (preview, topic/191), 6 hours ago",
        ),
    ],
)
def test_a_number_is_answered_with_its_age(message: str, answer: str) -> None:
    assert ask(at("Home"), message) == answer


def test_a_number_of_a_source_that_is_off_is_not_given() -> None:
    answer = ask(at("Home", (Source.GITHUB,)), "How many commits this week?")
    assert answer.startswith("ASSUMPTION: GitHub is switched off")
    assert not re.search(r"\d", answer)
