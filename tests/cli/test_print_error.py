"""What goes to stderr quotes files, addresses and agents: it steers no terminal and shows no password."""

from __future__ import annotations

import pytest

from carob.cli.main import print_error


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb", "a\nb\n"),
        ("\x1b[2Jgone\x07\r\u202eback", "\\x1b[2Jgone\\x07\\r\\u202eback\n"),
        ("cannot reach https://bob:hunter2@host/", "cannot reach https://[removed]@host/\n"),
        ("sent Authorization: Bearer abc.def", "sent Authorization: [removed]\n"),
    ],
)
def test_errors_are_inert(capsys: pytest.CaptureFixture[str], text: str, shown: str) -> None:
    print_error(text)
    assert capsys.readouterr() == ("", shown)
