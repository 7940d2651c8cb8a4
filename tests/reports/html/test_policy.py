"""What a report may do in a browser: its own script and style, and pictures that it holds; nothing else."""

from __future__ import annotations

from carob.reports.html.pages import HERE, report_policy


def test_a_report_loads_nothing_and_sends_nothing() -> None:
    rules = dict(rule.strip().split(" ", 1) for rule in report_policy().split(";"))
    assert rules.keys() == {"default-src", "script-src", "style-src", "img-src", "base-uri", "form-action"}
    assert (rules["default-src"], rules["base-uri"], rules["form-action"]) == ("'none'", "'none'", "'none'")
    assert rules["img-src"] == "data:"
    for kind in ("script-src", "style-src"):
        assert rules[kind].startswith("'sha256-")
        assert " " not in rules[kind]


def test_the_policy_comes_before_anything_that_it_is_about() -> None:
    page = (HERE / "templates" / "page_head.html").read_text("utf-8")
    policy = page.index('<meta http-equiv="Content-Security-Policy" content="{{ policy }}">')
    assert policy < page.index("<style")
