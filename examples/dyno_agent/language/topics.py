"""Which of the knowledge topics a question is about."""

import re

from dyno_agent.language.cues import words

_CUES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("sql", words(r"sql|query_database|queries|query|statements?|read[\s-]?only|insert|delete|drop|select")),
    (
        "backup",
        words(
            r"back-?ups?|shift(?:ed|s|ing)?|fallback|slip|postpone\w*|later than|moved?|push(?:ed)?|delay(?:ed)?",
            r"how late|flexib\w+|busy|full|taken|occupied",
        ),
    ),
    (
        "overlaps",
        words(
            r"overlap\w*|double[\s-]?book\w*|twice|share|simultaneous\w*|at once|back[\s-]to[\s-]back",
            r"conflict\w*|clash\w*|same (?:days?|time|dyno|dates?|week)|two (?:vehicles|bookings|cars|dynos)",
        ),
    ),
    ("weight_classes", words("weight class(?:es)?|weights?|weigh|heav(?:y|iest|ier)|lbs?|pounds|load limit")),
    ("maintenance", words("maintenance|serviced?|servicing")),
    (
        "compatibility",
        words(
            r"conditions?|determin\w+|compatib\w+|suitab\w+|suits?|handle|match\w*|decides?|eligib\w+|criteri\w+|accepts?|fits?"
        ),
    ),
    ("availability", words("availability|disabled|enabled|available_from|available_until")),
    ("statuses", words("status(?:es)?|states?")),
    ("test_types", words("(?:types?|kinds?|sorts?) of tests?|test types?|which tests|what tests")),
    ("drives", words("drives?|drivetrains?|awd|4wd|fwd|rwd")),
    (
        "booking",
        words(
            r"(?:how|what) .*(?:book|booking|allocate|allocation|reserve)|information|need from me|identif\w+",
            "ambiguous|date format|(?:end|start) date|choose|pick|longest|how long",
        ),
    ),
)


def topic_of(text: str) -> str | None:
    """The first topic whose cue stands in the lower-case text, the more telling cues before the vaguer ones."""
    return next((name for name, cue in _CUES if cue.search(text)), None)
