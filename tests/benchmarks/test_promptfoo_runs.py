"""Whole configurations, run by promptfoo and by Carob: what is compared with what, and which differences are known."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import carob
from benchmarks.published.promptfoo_runs import REPEAT, Compared, configurations, explain, judge, match, report
from carob.model.verdict import CheckResult, Status

DOCS = """
```yaml title="promptfooconfig.yaml"
tests:
  - vars: {input: a}
```

- in a list:

  ```yml
  prompts: ["Tell {{x}}"]
  tests: [{vars: {x: a}}]
  ```

```yaml
providers: [openai:gpt-4o]
```
"""


def test_configurations_are_files_and_blocks_of_documentation(tmp_path: Path) -> None:
    source, scratch = tmp_path / "source", tmp_path / "scratch"
    (source / "shop").mkdir(parents=True)
    (source / "shop" / "promptfooconfig.yaml").write_text("prompts: [Hi]\n")
    (source / "node_modules").mkdir()
    (source / "node_modules" / "promptfooconfig.yaml").write_text("prompts: [Hi]\n")
    (source / "guide.md").write_text(DOCS)
    first, *blocks = configurations(source, scratch)
    assert first == source / "shop" / "promptfooconfig.yaml"
    assert [case.prompt for block in blocks for case in carob.load_suite(block).cases] == ["Say a", "Tell a"]


def _row(prompt: str, test: int, output: str = "x", success: bool = True) -> dict[str, Any]:
    parts = [{"pass": success, "assertion": {"type": "equals"}}]
    grading = {"reason": "as it is", "componentResults": parts}
    where = {"testIdx": test, "promptIdx": 0, "prompt": {"raw": prompt, "label": prompt}}
    return {**where, "success": success, "response": {"output": output}, "gradingResult": grading}


CONFIG = {
    "prompts": ["Say {{x}}"],
    "tests": [{"vars": {"x": ["a", "b"]}, "assert": [{"type": "equals", "value": "{{x}}"}]}, {"vars": {"x": "c"}}],
}


def test_rows_are_matched_with_cases_by_their_prompts(tmp_path: Path) -> None:
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(CONFIG))
    cases = carob.load_suite(tmp_path / "promptfooconfig.json").cases
    said = [f"Say {x}" for x in ["c"] * REPEAT + ["a", "b"] * REPEAT]
    matched = match([_row(prompt, number) for number, prompt in enumerate(said)], cases)
    assert all(row["prompt"]["raw"] == case.prompt for row, case, _ in matched)
    assert {(case.id, repeat) for _, case, repeat in matched} == {
        (case.id, repeat) for case in cases for repeat in range(REPEAT)
    }


def test_a_false_pass_is_no_known_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = {"prompts": ["Say {{x}}"], "tests": [{"vars": {"x": "a"}, "assert": [{"type": "equals", "value": "a"}]}]}
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    suite = carob.load_suite(tmp_path / "promptfooconfig.json")
    rows = [_row("Say a", number, output, output == "a") for number, output in enumerate(("a", "b", "a"))]
    output = tmp_path / "results.json"
    output.write_text(json.dumps({"results": {"results": rows}}))
    found = list(judge(tmp_path / "promptfooconfig.json", suite, output, match(rows, suite.cases)))
    assert [one.ours for one in found] == ["pass", "fail", "pass"]
    assert report(found, Counter()) == 0
    rows[0]["success"] = False
    wrong = list(judge(tmp_path / "promptfooconfig.json", suite, output, match(rows, suite.cases)))
    assert report(wrong, Counter()) == 1
    assert "1 in 1 configurations: UNEXPLAINED" in capsys.readouterr().out


def _compared(theirs: str, ours: str, *checks: CheckResult, format: str = "json", why: str = "") -> Compared:
    return Compared(__file__, format, "x", "a", theirs, ours, frozenset(["llm-rubric"]), checks, why)


UNJUDGED = CheckResult("unjudged", "qa", Status.UNJUDGED, "llm-rubric (it needs a model): polite")
RAISED = CheckResult("code", "qa", Status.ERROR, "javascript accepts it")
LOST = "/ not-recorded: x contains no trace of this case."


@pytest.mark.parametrize(
    ("one", "known"),
    [
        (_compared("fail", "partial", UNJUDGED), True),
        (_compared("fail", "partial", RAISED), False),
        (_compared("fail", "error", RAISED), True),
        (_compared("pass", "error", RAISED), False),
        (_compared("pass", "skip"), True),
        (_compared("pass", "error", format="csv", why=LOST), True),
        (_compared("pass", "error", format="json", why=LOST), False),
        (_compared("pass", "fail"), False),
    ],
)
def test_differences_have_a_class_only_for_a_reason(one: Compared, known: bool) -> None:
    assert bool(explain(one)) is known
