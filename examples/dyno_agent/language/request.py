"""A request in the agent's own terms, put together from a turn and the questions that led to it."""

from dataclasses import dataclass, fields, replace
from datetime import date

from dyno_agent.language.entities import Entities, read_entities, without_backup_words
from dyno_agent.language.intents import Intent, Reading, intent_of, without_politeness
from dyno_agent.language.periods import Period, read_period
from dyno_agent.language.sql import find_select
from dyno_agent.language.topics import topic_of

MAX_CHARACTERS = 4_000


_FILLERS = frozenset(
    {
        Intent.UNKNOWN,
        Intent.GREET,
        Intent.EXPLAIN,
        Intent.DESCRIBE_VEHICLE,
        Intent.CHECK_VEHICLE,
        Intent.TESTS_BY_STATUS,
        Intent.LIST_DYNOS,
        Intent.LIST_VEHICLES,
    }
)
"""What `the AWD one` or `a brake test` looks like by itself, while it answers what was asked."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is wanted, of what, and when."""

    text: str
    intent: Intent
    entities: Entities
    period: Period
    topic: str | None
    sql: str | None


def read_request(text: str, today: date) -> Request:
    """Read one message; what stands beyond the cap is not read."""
    original = text[:MAX_CHARACTERS]
    words = " ".join(original.replace("’", "'").split())
    entities = read_entities(words)
    dateable = without_backup_words(words)
    period = read_period(dateable, today)
    plain = without_politeness(words)
    topic = topic_of(plain)
    intent = intent_of(Reading(plain, original, entities, period.stated, topic))
    if intent is Intent.COUNT_COMPLETED:
        period = read_period(dateable, today, past=True)
    return Request(plain, intent, entities, period, topic, find_select(original))


def continued(earlier: Request, answer: Request) -> Request:
    """The earlier request with what the answer to a question adds or corrects."""
    if answer.text.endswith("?") or answer.intent not in _FILLERS | {earlier.intent}:
        return answer
    named = {field.name: getattr(answer.entities, field.name) for field in fields(Entities)}
    said = {name: value for name, value in named.items() if value not in (None, ())}
    if not said and not answer.period.stated:
        return answer
    period = answer.period if answer.period.stated else earlier.period
    return replace(earlier, entities=replace(earlier.entities, **said), period=period)
