"""Finding SQL in a request."""

import re

from dyno_agent.models import Base

_FENCE = re.compile(r"```(?:sql)?\s*(?P<sql>.+?)\s*```|`(?P<inline>[^`]+)`", re.IGNORECASE | re.DOTALL)
_READS = re.compile(r"\b(?:select\b.+|with\s+(?:recursive\s+)?\w+\s+as\s*\(.+)", re.IGNORECASE | re.DOTALL)
_WRITES = re.compile(
    r"\b(?:delete\s+from|insert\s+into|drop\s+(?:table|schema|database|index|view)|truncate(?:\s+table)?\s+\w+"
    r"|alter\s+(?:table|role|database)|create\s+(?:table|index|view|trigger|role)|update\s+\w+\s+set|grant\s+\w+\s+on"
    r"|replace\s+into|attach\s+database|pragma\s+\w+)\b",
    re.IGNORECASE,
)


def find_select(text: str) -> str | None:
    """The SELECT that a request holds: fenced, or from the keyword to the end."""
    fenced = _FENCE.search(text)
    candidate = (fenced["sql"] or fenced["inline"]) if fenced else text
    match = _READS.search(candidate)
    if match is None or not (fenced or _looks_like_sql(match[0])):
        return None
    return _unquoted(match[0].strip())


def _unquoted(sql: str) -> str:
    """Without the closing quote or full stop of the sentence around it."""
    bare = sql.rstrip(" .?!")
    return bare[:-1] if bare and bare[-1] in "'\"”" and bare.count(bare[-1]) % 2 else bare


def _looks_like_sql(words: str) -> bool:
    """Tell SQL from the English verb, as in `select a dyno from the list`."""
    tables = "|".join(Base.metadata.tables)
    keyword_shouted = words.startswith(("SELECT", "WITH"))
    return keyword_shouted or re.search(rf"\bfrom\s+[\"(]?(?:{tables}|sqlite_\w+|pg_\w+)\b", words, re.I) is not None


def find_write(text: str) -> bool:
    """Whether the request holds a statement that changes something."""
    return _WRITES.search(text) is not None
