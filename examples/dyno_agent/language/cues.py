"""The words by which an intent is recognised: data for the rules in `intents`, one idea per group."""

import re


def words(*patterns: str) -> re.Pattern[str]:
    """Any of these as whole words."""
    return re.compile(rf"\b(?:{'|'.join(patterns)})\b")


def orders(*verbs: str) -> re.Pattern[str]:
    """Any of these verbs where an order can begin: at the start of a clause."""
    return re.compile(rf"(?:^|[.,;:!?]\s*|\b(?:and|then|to|so|also|now)\s+)(?:{'|'.join(verbs)})\b")


POLITENESS = re.compile(
    r"\b(?:hi|hello|hey|please|kindly|thanks|thank you|just|quick question|go ahead and|let's|tell me|i wonder"
    r"|do you know|(?:can|could|would|will) you(?: please)?(?: tell me)?|i(?:'d| would) like (?:you )?to"
    r"|i (?:want|need|have) (?:you )?to|we (?:want|need|have) to|would it be possible to|is it possible to)\b[\s,:!]*",
    re.IGNORECASE,
)

STATE = r"booked|allocated|scheduled|assigned|reserved|planned"

BOOKING_ORDER = orders(
    r"(?:auto-?)?allocate", "book", "reserve", "schedule", "assign", "put", "place", "slot", "arrange", "squeeze"
)
BOOKING_WISH = words(
    r"(?:needs?|wants?|requires?|get|give|find) .{0,40}\b(?:booked|scheduled|allocated|tested|on(?:to)? a dyno"
    r"|a booking|an allocation|a reservation|a slot|it a dyno)",
    r"(?:new|make an?|create an?|request an?) (?:booking|allocation|reservation)",
    "i need a dyno",
    "need a slot",
)
QUESTION = re.compile(
    r"^(?:is|are|was|were|when|where|who|has|have|had|which|what|how|why|does|do|did|can|could|may|any|show|list|check)\b"
)
POSSIBILITY = words(r"(?:can|could|may|might) .{0,40}\bbe (?:booked|allocated|scheduled|tested)", "would you use")

CHANGE_ORDER = orders(
    r"delete|erase|wipe|purge|drop|remove|truncate|destroy|clear|cancel|reschedule|move|swap|disable|enable|modify|edit"
    r"|overwrite|rename|insert|add|update|change|empty|reset|set(?! up)"
)
CHANGEABLE = words(
    r"allocations?|bookings?|vehicles?|dynos?|tables?|database|records?|rows?|data|everything|tests?|maintenance"
    r"|schedule|entries|columns?"
)
PLAN_MAINTENANCE = orders(r"(?:schedule|plan|book|add|arrange) (?:a |an |some |the )?(?:maintenance|service)")

ABOUT_RULES = words(
    r"rules?|polic(?:y|ies)|criteria|maximum|define|difference|meaning of|mean",
    "allow|allowed|permitted|forbidden",
    "(?:is|are|does|do|can|would|will|must|may) .* if",
    "do i have to|under which conditions|under what conditions",
    "explain|why|what happens|what if|what do you do|when is a",
    "how (?:do|does|are|is|can|would|far|late|heavy|long)|how many days",
    r"what (?:determines|decides|makes|counts|does|kinds?|sorts?|types?|weight class|information|do you need)",
    r"what(?:'s| is| are) (?:the |an? )?(?:limit|max\w*|heaviest|most|longest|rules?|weight|possible|supported"
    r"|criteri\w+|conditions?|requirements?|back-?up|overlap|availability window)",
    r"which (?:columns?|fields?|factors?|weight classes|test types|drives|statuses)",
    r"(?:can|may|could|must|should|does|do|will|would) (?:i|we|an?|the|two|one|it|they|my|some|someone|people|bookings?"
    r"|dynos?|vehicles?|maintenance|there|tests?|allocations?)",
    r"is (?:it|there|a|an) (?:ok|okay|possible|fine|limit|max|upper)|are (?:disabled|enabled|overlapping)",
)

TIME = words(
    r"what time|what day is|which day is|what day of|current (?:date|time)|today's date",
    r"what(?:'s| is) (?:the |today's )?(?:date|time)",
)
CONFLICT = words(r"scheduling problems?|conflict\w*|clash\w*|overlap\w*|double[\s-]?book\w*|collid\w*|collisions?")
MAINTENANCE = words(
    r"maintenance|service[ds]?|servicing|repairs?|repaired|calibrat\w+|inspections?|down(?:time)?|out of order"
)

COUNT = words("how many|count|number of|total|amount|tally")
FINISHED = words(r"completed?|finish(?:ed)?|did we (?:run|do)")
FREE = words("available|availability|free|open|vacant|unoccupied|unbooked|idle")
DYNO = words("dynos?|dynamometers?|rigs?|slots?|machines?")
SUITING = words(r"which|what|where|find|any|is there|are there|can|could")
TESTS = words(r"tests?|everything|bookings?|allocations?|jobs?|vehicles|cars|anything|what(?:'s| is)")
VEHICLES = words("vehicles|cars|trucks|vans|fleet")
USED_BY = words(r"using|uses|on|occup\w+|calendar|busy|bookings?|allocations?|schedule|taken|who")
VEHICLE_WORD = words("(?:my|the|a|this|that|our) (?:vehicle|car|truck|van)")
VEHICLE_BOOKING = words(
    STATE,
    "allocations?|bookings?|reservations?|status|calendar|agenda|slots?|where|when|check|on a dyno|(?:which|what) dyno"
    "|tests?|tested",
)
VEHICLE_FACT = words(
    r"weights?|weighs?|heavy|drive(?:train)?|model|details?|specs?|specifications?|describe|about|kind of vehicle"
)
LIGHTER = words("lighter|under|below|less than|at most|up to")
HELP = words("help|what can you do|good (?:morning|day|evening|afternoon)")
