"""Claims and requests are read in German, Spanish, French, Portuguese, Japanese and Chinese."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from carob.text.prose.asking import find_request, find_request_for
from carob.text.prose.claims import claims
from laws.coverage import LAW
from laws.samples import HERE
from yaml_files import read_yaml

LANGUAGES: dict[str, Any] = read_yaml(HERE / "languages.yaml")


def is_claim(sentence: str, words: Sequence[str]) -> bool:
    return bool(claims(sentence, {"book": words}))


def is_request(sentence: str, thing: Sequence[str]) -> bool:
    return find_request(sentence) is not None and find_request_for(sentence, thing) is not None


def find_misread(rows: dict[str, Any]) -> Iterator[str]:
    for kind, read, given in (("claims", is_claim, "words"), ("asks", is_request, "thing")):
        yield from (f"no {kind}: {sentence}" for sentence in rows[kind] if not read(sentence, rows[given]))
        yield from (f"{kind}: {sentence}" for sentence in rows[f"no_{kind}"] if read(sentence, rows[given]))


@pytest.mark.parametrize("language", LANGUAGES)
def test_claims_and_requests_are_read(language: str, record_property: Callable[[str, object], None]) -> None:
    rows = LANGUAGES[language]
    assert [*find_misread(rows)] == []
    counts = {kind: len(rows[kind]) for kind in ("claims", "no_claims", "asks", "no_asks")}
    record_property(LAW, f"language {language}: {', '.join(f'{count} {kind}' for kind, count in counts.items())}")
