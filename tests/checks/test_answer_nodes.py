"""Markdown as the snapshot of a page, and regexes that were written for such snapshots."""

from __future__ import annotations

import pytest

from carob.checks.answer.nodes import LONGEST, find_in_answer, snapshot_of
from carob.checks.sample_traces import says

BRIEF = """\
# Brief

Today *now*, see [the docs](http://x).

1. **Roll back**: the deploy
   - nested
2. Page "the" owner

• one bullet
• another

| a | b |
|---|---|
| 1 | `2` |

> quoted

---
```
code
```
-
"""
SNAPSHOT = """\
- heading "Brief" [level=1]
- paragraph: Today now, see the docs.
  - emphasis: now
  - link "the docs"
- list:
  - listitem: Roll back: the deploy
    - strong: Roll back
    - list:
      - listitem: nested
  - listitem: Page "the" owner
- list:
  - listitem: one bullet
  - listitem: another
- table:
  - rowgroup:
    - row:
      - columnheader "a"
      - columnheader "b"
  - rowgroup:
    - row:
      - cell "1"
      - cell "2"
        - code: 2
- blockquote:
  - paragraph: quoted
- separator
- code: code
- list:
  - listitem"""


def test_markdown_is_written_as_a_snapshot() -> None:
    assert snapshot_of(BRIEF) == SNAPSHOT


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (r"^\s*-\s*listitem:", [": the deploy", "nested", 'Page "the" owner', "one bullet", "another"]),
        (r"^\s*-\s*listitem:\s*Page .+", ['Page "the" owner']),
        (r'- heading "Brief"', ["# Brief"]),
        (r'- link "the docs"', ["the docs"]),
        (r'- heading "Evidence"', []),
        (r"^\s*-\s*button", []),
        (r"code: code", []),  # words that a snapshot would have too: it is not written for one
        (r"^\s*- \w+: Page", []),  # names no role: it would find any node
    ],
)
def test_regex_for_snapshots_finds_words_of_the_answer(pattern: str, found: list[str]) -> None:
    spans = [BRIEF[slice(*span)] for _, span in find_in_answer(pattern, says(BRIEF))]
    assert [words in span or span in words for words, span in zip(found, spans, strict=True)] == [True] * len(found)


def test_nesting_without_end_is_cut_and_a_long_text_has_no_snapshot() -> None:
    assert snapshot_of("> " * 20_000).count("blockquote") <= 20
    assert snapshot_of("x" * (LONGEST + 1)) == ""
