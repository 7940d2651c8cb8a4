"""Which calls go to a tool that is forbidden, and which do not."""

from __future__ import annotations

import pytest

from karat.text.tool_names import is_same_tool, named_in


@pytest.mark.parametrize(
    "called",
    [
        *("delete_user", "Delete_User", "DELETE_USER", " delete_user ", "delete_user\n", "deleteUser", "delete-user"),
        *("functions.delete_user", "tools/delete_user", "default_api:delete_user", "mcp__crm__delete_user"),
        *(
            "ｄｅｌｅｔｅ_ｕｓｅｒ",
            "dеlete_user",
            "delete_usеr",
            "dele\u200bte_user",
            "delete\u00a0user",
            "délete_user",
        ),
        *("crm.delete_user", "delete.user", "delete_user()"),
    ],
)
def test_the_same_tool(called: str) -> None:
    assert is_same_tool("delete_user", called)
    assert is_same_tool("functions.delete_user", called)


@pytest.mark.parametrize("called", ["delete_users", "delete", "user", "undelete_user", "delete_user_draft", "", "find"])
def test_another_tool(called: str) -> None:
    assert not is_same_tool("delete_user", called)


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
    assert named_in("delete_user", line) is named
