"""Which stated ages make evidence stale."""

from __future__ import annotations

import pytest

from carob.checks.answer.brief import EvidenceFreshness
from carob.checks.sample_traces import says
from carob.model.verdict import Status


@pytest.mark.parametrize(
    ("beside", "status"),
    [
        *(
            (stale, Status.FAILED)
            for stale in (
                "GitHub 3d stale.",
                "GitHub 3d behind",
                "GitHub 2d late",
                "GitHub synced 2d before that",
                "GitHub over 3d without new data",
                "GitHub 400M ago",
                "GitHub 3D ago",
                "refreshed 400m across all",
                "GitHub 400\nminutes ago",
                "GitHub 72h00",
                "GitHub 20,5h ago",
                "GitHub ４００m",
                "GitHub 3dago",
            )
        ),
        ("GitHub 400m sources", Status.UNKNOWN),
        ("GitHub 4h15", Status.UNKNOWN),
        *(
            (foreign, Status.UNKNOWN)
            for foreign in (
                "Stand: gestern",
                "12 Fehler (Stand gestern)",
                "GitHub (gestern)",
                "gestern 14:00",
                "Stand: Montag",
                "Stand: letzte Woche",
                "actualizado ayer",
                "datos de la semana pasada",
                "mis à jour hier",
                "depuis lundi",
                "la semaine dernière",
                "dati aggiornati ieri",
                "atualizado ontem",
                "data van gisteren",
                "oppdatert i går",
                "обновлено вчера",
                "昨日更新",
                "지난주 자료",
            )
        ),
        ("12 Commits heute, 9 gestern", Status.PASSED),
        ("gestern: 9, heute: 12", Status.PASSED),
        ("mehr als gestern", Status.PASSED),
        ("hier ist der Bericht", Status.PASSED),
        ("geöffnet von Montag bis Freitag", Status.PASSED),
        ("GitHub 12m sources", Status.PASSED),
        ("400m users", Status.PASSED),
        ("revenue of 400 M", Status.PASSED),
        ("a 3D view and a 2d chart", Status.PASSED),
    ],
)
def test_a_stale_age_beside_a_fresh_one(beside: str, status: Status) -> None:
    assert EvidenceFreshness(180).judge(says(f"Slack 12m ago; {beside}")).status is status


@pytest.mark.parametrize("text", ["GitHub 12m sources", "GitHub 1h15", "1,5 hours", "12M", "no age"])
def test_a_doubtful_age_alone_never_passes(text: str) -> None:
    assert EvidenceFreshness(180).judge(says(text)).status is Status.FAILED
