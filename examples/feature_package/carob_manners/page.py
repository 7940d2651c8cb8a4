"""The page of the viewer on the manners of a run: these are the values of `templates/manners.html`."""

from __future__ import annotations

from typing import Any

from carob import PageRequest
from carob_manners.loudness import loud_answers
from carob_manners.settings import read_manners


def manners_page(request: PageRequest) -> dict[str, Any]:
    most = read_manners().most
    return {"most": most, "answers": loud_answers(request.run.path, most)}
