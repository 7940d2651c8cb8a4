"""Which calls go to a tool that is forbidden, and which do not."""

from __future__ import annotations

import pytest

from carob.text.tool_names import is_named_in, is_same_tool, is_word_of, may_be_same_tool


@pytest.mark.parametrize(
    "called",
    [
        *("delete_user", "Delete_User", "DELETE_USER", " delete_user ", "delete_user\n", "deleteUser", "delete-user"),
        *("functions.delete_user", "tools/delete_user", "default_api:delete_user", "mcp.tools.delete_user"),
        *(
            "ｄｅｌｅｔｅ_ｕｓｅｒ",
            "dеlete_user",
            "delete_usеr",
            "dele\u200bte_user",
            "delete\u00a0user",
            "délete_user",
        ),
        *("delete.user", "delete_user()"),
    ],
)
def test_the_same_tool(called: str) -> None:
    assert is_same_tool("delete_user", called)
    assert is_same_tool("functions.delete_user", called)


@pytest.mark.parametrize("called", ["delete_users", "delete", "user", "undelete_user", "delete_user_draft", "", "find"])
def test_another_tool(called: str) -> None:
    assert not is_same_tool("delete_user", called)


@pytest.mark.parametrize(
    "called",
    ["crm.delete_user", "mcp__crm__delete_user", "crm/Delete_User", "crm:delete_user", "Crm-delete_user"],
)
def test_behind_a_name_space_it_may_be_the_same_tool(called: str) -> None:
    assert may_be_same_tool("delete_user", called)
    assert not is_same_tool("delete_user", called)


@pytest.mark.parametrize("called", ["delete_user", "crm_delete_user", "un-delete_user", "crm.undelete_user", "crm."])
def test_an_underscore_is_part_of_a_name(called: str) -> None:
    assert not may_be_same_tool("delete_user", called)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("Action: delete_user", True),
        ("delete_user(5)", True),
        ("I use `Delete_User` now", True),
        ("I delete the user", False),
        ("undelete_user(5), delete_users, delete_user-draft", False),
    ],
)
def test_words_name_a_tool_by_a_word_of_their_own(words: str, named: bool) -> None:
    assert is_word_of("delete_user", words) is named


def test_a_name_space_that_tells_tools_apart_is_kept() -> None:
    assert not is_same_tool("github.delete", "gitlab.delete")
    assert is_same_tool("github.delete", "functions.github.delete")


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ('{"fn": "functions.Delete_User"}', True),
        ("calling deleteUser(5)", True),
        ("calling delete on a user", False),
        ("nothing here", False),
    ],
)
def test_a_line_that_names_a_tool(line: str, named: bool) -> None:
    assert is_named_in("delete_user", line) is named


@pytest.mark.parametrize(
    ("pattern", "called", "same"),
    [
        ("get_*", "getaway", False),
        ("get_*", "getaway_list", False),
        ("get_*", "get_order", True),
        ("get_*", "getOrder", True),
        ("get_*", "functions.GET-ORDER", True),
        ("*_refund", "norefund", False),
        ("*_refund", "issueRefund", True),
        ("*refund", "norefund", True),
        ("mcp__github__*", "mcp__github__create_issue", True),
    ],
)
def test_a_pattern_that_ends_at_a_word_ends_at_one(pattern: str, called: str, same: bool) -> None:
    assert is_same_tool(pattern, called) is same
