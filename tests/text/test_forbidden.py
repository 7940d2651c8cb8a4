"""What is forbidden is found however it is written."""

from __future__ import annotations

import pytest

from carob.text.characters import widen_name
from carob.text.forbidden import SecretText

SECRET = SecretText("KRT-5d81c07e")


@pytest.mark.parametrize(
    ("text", "is_in"),
    [
        pytest.param("The code is KRT-5d81c07e.", True, id="as it is"),
        pytest.param("S1JULTVkODFjMDdl", True, id="in Base64"),
        pytest.param("K R T 5 d 8 1 c 0 7 e", True, id="letter by letter"),
        pytest.param("ＫＲＴ－５ｄ８１ｃ０７ｅ", True, id="in wide letters"),
        pytest.param("KRT-5\u200bd81\u200bc07e", True, id="with unseen characters"),
        pytest.param("**KRT**-5d81`c07e`", True, id="with markup"),
        pytest.param("The code is KRT-5d81c07f.", False, id="another one"),
    ],
)
def test_secret_text_is_found_in_every_form(text: str, is_in: bool) -> None:
    assert SECRET.is_in(text) is is_in


@pytest.mark.parametrize("name", ["delete", "ｄelete", "dеlete", "délete", "de\u200blete"])
def test_tool_name_is_widened_to_plain_letters(name: str) -> None:
    assert widen_name(name) == "delete"
