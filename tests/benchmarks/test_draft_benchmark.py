"""What is drafted of made-up traces of production; nothing is timed."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import carob
from benchmarks import drafts
from carob.checks.catalog import catalog_for
from carob.features.draft.draft import DraftOptions, SuiteDraft
from carob.features.draft.drafting import draft_from_traces
from carob.plugins.project import find_project

TRACES = [*drafts.traces(1000)]


def drafted(count: int, **options: bool) -> SuiteDraft:
    return draft_from_traces(TRACES[:count], catalog_for(find_project()), DraftOptions(**options))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def draft() -> SuiteDraft:
    return drafted(1000)


def test_many_traces_become_few_cases_and_questions(draft: SuiteDraft) -> None:
    assert 6 <= draft.summary.cases <= 12
    assert draft.summary.covered > 920
    assert {"error", "loop", "rare", "number"} <= {finding.kind for finding in draft.findings}
    carob.load_suite(draft.yaml)


def test_personal_data_is_masked_unless_it_is_to_be_kept(draft: SuiteDraft) -> None:
    assert draft.summary.masked.keys() == {"email address", "card number", "phone number"}
    assert "@shop" not in draft.yaml
    assert "4242" not in draft.yaml
    kept = drafted(400, keep_personal_data=True)
    assert not kept.summary.masked
    assert "@shop" in kept.yaml


def test_rows_have_values_of_their_own_prompts(draft: SuiteDraft) -> None:
    case = next(one for one in yaml.safe_load(draft.yaml)["cases"] if "issue-refund" in one["id"])
    assert [row["order"] in row["asked"] for row in case["each"]] == [True] * len(case["each"])
    assert case["expected"]["tool_calls"][0]["arguments"] == {"order": "{order}"}


def test_the_journal_can_be_judged_and_drafted(tmp_path: Path) -> None:
    drafts.write_journal(tmp_path / "shop.jsonl", 60)
    assert carob.rescore(tmp_path / "shop.jsonl").summary.total == 60
    assert carob.draft(tmp_path / "shop.jsonl").summary.traces == 60
