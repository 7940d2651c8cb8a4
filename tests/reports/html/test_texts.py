"""Texts of others as HTML: nothing but text, with evidence marked where a reader sees it."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carob.reports.html.evidence import LONGEST, render
from carob.reports.html.markup import Mark, Marker, attribute, difference, escape_text, has_useful_difference
from carob.reports.html.pages import find_own_file
from reports.hostile import HOSTILE

TAGS = frozenset("a p div span mark ul ol li blockquote strong em s table thead tbody tr th td pre code hr br".split())  # noqa: SIM905
ATTRIBUTES = {"class", "id", "data-c", "start", "tabindex"}


class Shape(HTMLParser):
    """The tags and attributes of some HTML, and whether they close in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.crossed = False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in ("br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.crossed = self.crossed or not self.open or self.open.pop() != tag


def marked(html: str) -> str:
    return "".join(
        unescape(re.sub("<.*?>", "", marked_text)) for marked_text in re.findall(r"(?s)<mark.*?</mark>", html)
    )


def assert_inert(html: str) -> None:
    shape = Shape(html)
    assert shape.tags <= TAGS
    assert shape.attributes <= ATTRIBUTES
    assert not shape.crossed
    assert shape.open == []


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_markdown_becomes_plain_tags(name: str) -> None:
    text = HOSTILE[name]
    assert_inert(render(text, Marker([Mark(0, len(text) // 2 + 1, 0, "failed")], "c0")))
    assert_inert(render(f"**a** {text}\n\n- {text}\n\n> {text}", Marker([Mark(3, 30, 1, "passed")], "c0")))
    assert "<" not in attribute(text)
    assert '"' not in attribute(text)


@given(st.text(st.sampled_from("ab*_`[]()<>#!|~\\&;-+ 1.\n\r\t\u202e\x00👩\u200d"), max_size=80), st.data())
def test_any_text_is_inert_and_its_marks_nest(text: str, data: st.DataObject) -> None:
    spans = data.draw(st.lists(st.tuples(st.integers(0, 80), st.integers(0, 80)), max_size=4))
    marks = [Mark(min(span), max(span), number, "failed") for number, span in enumerate(spans)]
    assert_inert(render(text, Marker(marks, "c0")))


@pytest.mark.parametrize(
    ("text", "evidence"),
    [
        pytest.param("plain words\nhere", "words\nhere", id="plain"),
        pytest.param("some **bold words** here", "bold words", id="bold"),
        pytest.param("- one\n- two three\n", "two", id="list"),
        pytest.param("| a | b |\n|---|---|\n| 1 | 2.5 |", "2.5", id="table"),
        pytest.param("```py\nx = 1\ny = 2\n```", "y = 2", id="code"),
        pytest.param("see [the page](https://e.x/secret)", "e.x/secret", id="address"),
        pytest.param("a \\* b & c", "b & c", id="escapes"),
        pytest.param("one\r\n\r\n**two**\r\nthree", "three", id="line-ends"),
        pytest.param("# Big head\n\nbody", "head", id="heading"),
        pytest.param("the the **the** end", "end", id="the-right-one"),
    ],
)
def test_evidence_is_marked_where_it_is_read(text: str, evidence: str) -> None:
    start = text.rindex(evidence)
    marker = Marker([Mark(start, start + len(evidence), 7, "failed")], "c3")
    html = render(text, marker)
    assert marked(html) == evidence
    assert html.count('id="c3-e7"') == 1
    assert marker.placed == {7}


def test_marks_that_overlap_name_every_check_and_the_worst_status() -> None:
    html = Marker([Mark(0, 5, 1, "passed"), Mark(3, 8, 2, "failed")], "c0").html("abcdefgh")
    pieces = re.findall(r'<mark class="(\w+)" data-c="([\d ]+)">(\w+)</mark>', html)
    assert pieces == [("passed", "1", "abc"), ("failed", "1 2", "de"), ("failed", "2", "fgh")]


def test_what_is_hidden_is_spelled_out_and_what_is_long_is_not_parsed() -> None:
    assert escape_text("a\u202eb") == 'a<span class="unseen">\\u202e</span>b'
    assert "\u200d" in escape_text("👩\u200d💻")
    assert "\\u200d" in escape_text("pass\u200ded")
    assert "<strong>" not in render("**a** " * LONGEST, Marker((), ""))


def test_a_difference_shows_what_only_one_text_has() -> None:
    assert difference("paid 49 euros", "paid 94 euros") == "paid <del>49</del> <ins>94</ins> euros"
    assert "<b>" not in difference("<b>a</b>", "<b>c</b>")
    assert has_useful_difference('{"amount": 49, "order": "A-17"}', '{"amount": 94, "order": "A-17"}')
    assert not has_useful_difference("no 'as an AI'", "As an AI")
    assert not has_useful_difference("hello", "entirely other words")


@pytest.fixture
def journal(tmp_path):
    (tmp_path / "run" / "files").mkdir(parents=True)
    (tmp_path / "run" / "files" / "shot.png").write_bytes(b"\x89PNG\r\n\x1a\n....")
    (tmp_path / "run" / "files" / "page.html").write_text("<script>")
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "run" / "link.png").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "run" / "there").symlink_to(tmp_path)
    return str(tmp_path / "run" / "run.jsonl")


@pytest.mark.parametrize(
    "name",
    ["../secret.txt", "files/../../secret.txt", "/etc/passwd", "link.png", "there/secret.txt", "files", "", "a\x00b",
     "none.png", "x" * 5000, "..\\secret.txt", "."],
)  # fmt: skip
def test_no_file_outside_the_run_is_found(journal, name) -> None:
    assert find_own_file(journal, name) is None


def test_files_of_the_run_are_what_their_bytes_say(journal) -> None:
    assert find_own_file(journal, "files/shot.png").type == "image/png"
    assert not find_own_file(journal, "files/page.html").is_picture


@pytest.mark.parametrize(
    ("old", "new", "html"),
    [
        ("I paid 49.00 back.", "I paid 58.00 back.", "I paid <del>49.00</del> <ins>58.00</ins> back."),
        ("to your card now", "to your bank account now", "to your <del>card</del> <ins>bank account</ins> now"),
        ("one two", "one", "one <del>two</del>"),
        ("red is big", "blue is small", "<del>red is big</del> <ins>blue is small</ins>"),  # `is` alone says nothing
        ("a\nred", "a\nblue", "a\n<del>red</del> <ins>blue</ins>"),
        ("", "<b>", "<ins>&lt;b&gt;</ins>"),
    ],
)
def test_differences_are_words_with_spaces(old: str, new: str, html: str) -> None:
    assert difference(old, new) == html
