"""The things a request names: vehicles, dynos, weights, drives, test types, states and limits."""

import re
from dataclasses import dataclass

from dyno_agent.language.numbers import NUMBER, number_of
from dyno_agent.policy import WEIGHT_CLASSES

_LBS_PER_KG = 2.20462
_MAX_WORD = 30
_VIN = re.compile(r"\b(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-HJ-NPR-Z0-9]{17}\b", re.IGNORECASE)
_NAMED_VIN = re.compile(r"\bVIN(?:\s+(?:is|number|no\.?))?\s*[:=#]?\s*(?P<vin>(?=\w*\d)\w{5,30})\b", re.IGNORECASE)

_NOT_AN_AMOUNT = r"(?![\d,]*\d)(?!\s*(?:lbs?|pounds?|kg|kilos?|days?|weeks?|-day|k\b))(?![-/.]\d)"
_VEHICLE = re.compile(
    r"(?:\b(?:vehicles?|cars?|trucks?|vans?|suvs?|units?|pick-?ups?)[\s_-]*(?:with\s+)?(?:the\s+)?"
    r"(?:ids?|no\.?|nr\.?|numbers?)?\s*(?:is\s+)?[:=#]?\s*#?|\bid\s*(?:is\s+)?[:=#]?\s*|\b(?:allocate|book|reserve|schedule)\s+#?"
    r"|(?<![\w&])#)"
    rf"(?P<ids>\d{{1,18}}{_NOT_AN_AMOUNT}(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+|\s*&\s*)"
    rf"(?:vehicle\s+)?#?\d{{1,18}}{_NOT_AN_AMOUNT})*)",
    re.IGNORECASE,
)
_DYNO = re.compile(
    r"\b(?:dyno|rig)[\s_-]*(?:no\.?|number|id)?\s*[:#]?\s*(?P<number>\d{1,4})\b(?!\s*(?:lbs?|days?))", re.I
)
_WEIGHT = re.compile(
    r"(?<![\w.,])(?P<number>\d{1,3}(?:[,\s]\d{3})+|\d+(?:\.\d+)?)\s*(?P<k>k)?[\s-]*(?P<unit>lbs?|pounds?|kgs?|kilos?|kilograms?)\b",
    re.IGNORECASE,
)

_DRIVES = {
    "AWD": r"awd|all[\s-]?wheel(?:[\s-]?drive)?",
    "4WD": r"4\s?wd|4x4|four[\s-]?wheel(?:[\s-]?drive)?",
    "FWD": r"fwd|front[\s-]?wheel(?:[\s-]?drive)?",
    "RWD": r"rwd|rear[\s-]?wheel(?:[\s-]?drive)?",
}
_TEST_TYPES = {
    "brake": r"brak(?:e|es|ing)",
    "emissions": r"emissions?|exhaust|smog",
    "performance": r"performance|power[\s-]?curve|acceleration",
    "durability": r"durability|endurance",
    "coastdown": r"coast[\s-]?down",
    "noise": r"noise|nvh|acoustics?",
}
_STATUSES = {
    "scheduled": r"scheduled|planned|upcoming|pending|booked",
    "running": r"running|in[\s-]progress|ongoing|under\s?way",
    "completed": r"completed?|finished|done",
    "cancelled": r"cancell?ed|called\s+off",
}
_OTHER_TEST = re.compile(r"\b(?P<word>[a-z][a-z-]{2,29})[\s-]tests?\b", re.IGNORECASE)
_NO_TEST_TYPE = frozenset(
    [
        "the",
        "that",
        "this",
        "its",
        "our",
        "your",
        "any",
        "all",
        "every",
        "each",
        "some",
        "more",
        "next",
        "last",
        "long",
        "short",
        "dyno",
        "vehicle",
        "which",
        "what",
        "how",
        "many",
        "total",
        "number",
        "new",
        "day",
        "days",
        "week",
        "and",
        "for",
        "with",
        "list",
        "show",
        "count",
        "are",
        "were",
        "have",
        "another",
        "same",
        "get",
        "see",
        "book",
        "run",
    ]
)

_NO_BACKUP = re.compile(
    r"\b(?:no|without(?:\s+an?y?)?)\s+(?:back-?up|shift|fallback|delay|slippage)|\bexact\s+(?:dates?|days?|window)\b"
    r"|\b(?:only|exactly)\s+(?:on\s+)?(?:those|these|that|the\s+given)\s+(?:dates?|days?)\b"
    r"|\b(?:do\s+not|don't|must\s+not|cannot|can't|never)\s+(?:be\s+)?(?:shift|move|delay|slip|postpone)",
    re.IGNORECASE,
)
_BACKUP = re.compile(
    rf"\b(?:back-?up|shift|slip|delay|fallback|postpone|push|move)\w*\b[^.;!?\d]{{0,40}}?\b(?P<after>{NUMBER})[\s-]+days?\b"
    rf"|\b(?P<before>{NUMBER})[\s-]+(?:back-?up\s+days?|days?\s+(?:(?:of\s+)?(?:back-?up|shift|slack|delay)|later|late)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Entities:
    """What a text names; None and empty mean that it does not say."""

    vehicle_ids: tuple[int, ...] = ()
    vin: str | None = None
    dyno: str | None = None
    weight_lbs: int | None = None
    weight_class: str | None = None
    drive: str | None = None
    test_type: str | None = None
    status: str | None = None
    max_backup_days: int | None = None


def read_entities(text: str) -> Entities:
    """Everything that the text names."""
    dyno = _DYNO.search(text)
    return Entities(
        vehicle_ids=_vehicle_ids(text),
        vin=_vin(text),
        dyno=f"DYNO-{int(dyno['number']):02}" if dyno else None,
        weight_lbs=_weight(text),
        weight_class=_weight_class(text),
        drive=_first_of(_DRIVES, text),
        test_type=_first_of(_TEST_TYPES, text) or _unknown_test_type(text),
        status=_first_of(_STATUSES, text),
        max_backup_days=_backup_days(text),
    )


def without_backup_words(text: str) -> str:
    """The text with the backup limit blanked out: its days are no dates and no length of a test."""
    return _BACKUP.sub(lambda match: " " * len(match[0]), text)


def _vehicle_ids(text: str) -> tuple[int, ...]:
    ids = [int(number) for match in _VEHICLE.finditer(text) for number in re.findall(r"\d+", match["ids"])]
    return tuple(dict.fromkeys(ids))


def _vin(text: str) -> str | None:
    match = _VIN.search(text)
    if match:
        return match[0].upper()
    named = _NAMED_VIN.search(text)
    return named["vin"].upper() if named else None


def _weight(text: str) -> int | None:
    match = _WEIGHT.search(text)
    if match is None:
        return None
    number = float(re.sub(r"[,\s]", "", match["number"])) * (1000 if match["k"] else 1)
    return round(number * (_LBS_PER_KG if match["unit"].lower().startswith("k") else 1))


def _weight_class(text: str) -> str | None:
    match = re.search(rf"\b(?:{'|'.join(WEIGHT_CLASSES)})\b", text, re.IGNORECASE)
    return match[0].lower() if match else None


def _first_of(patterns: dict[str, str], text: str) -> str | None:
    """The name whose pattern stands first in the text."""
    places = {
        name: match.start()
        for name, pattern in patterns.items()
        if (match := re.search(rf"\b(?:{pattern})\b", text, re.IGNORECASE))
    }
    return min(places, key=places.__getitem__) if places else None


def _unknown_test_type(text: str) -> str | None:
    """`crash test`: not a test of this lab, so the tool shall say so instead of the request being misread."""
    for match in _OTHER_TEST.finditer(text):
        word = match["word"].lower()
        if word not in _NO_TEST_TYPE and not any(re.fullmatch(pattern, word) for pattern in _STATUSES.values()):
            return word[:_MAX_WORD]
    return None


def _backup_days(text: str) -> int | None:
    if _NO_BACKUP.search(text):
        return 0
    match = _BACKUP.search(text)
    return None if match is None else number_of(match["after"] or match["before"])
