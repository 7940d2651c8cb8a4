"""The answer as code: SQL, XML or HTML that can be parsed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple, TypedDict

from msgspec import Meta, Struct

from carob.checks import base
from carob.checks.sample_traces import says
from carob.model.check import CheckProblem, Example
from carob.model.trace import TextLoss, Trace
from carob.model.verdict import CheckResult, Group, Status
from carob.system.installing import install_extra
from carob.text.markup_documents import LONGEST, NotMarkupError, find_xml, has_html, parse_xml, why_not_html
from carob.text.regexes import lazy

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

NO_LIBRARY = "SQL needs a library that is not installed: "
LONGEST_SQL = 50_000
Language = Literal["sql", "xml", "html"]
_FENCE = lazy.pattern(r"[ \t]{0,3}(`{3,}|~{3,})[ \t]*(\w*)[ \t]*")
_STATEMENTS = frozenset((
    "Alter", "Analyze", "Attach", "Cache", "Comment", "Commit", "Copy", "Create", "Delete", "Describe", "Drop",
    "Detach", "Except", "Grant", "Insert", "Intersect", "Kill", "LoadData", "Merge", "Pragma", "Revoke", "Rollback",
    "Select", "Set", "SetOperation", "Show", "Subquery", "Transaction", "TruncateTable", "Union", "Update", "Use",
    "Values",
))  # fmt: skip
"""What is parsed as an expression, or not at all, is not a statement."""
_OF_DIALECTS: Mapping[str, frozenset[str]] = {
    "ILike": frozenset(("duckdb", "postgres", "redshift", "snowflake")),
    "GenerateSeries": frozenset(("duckdb", "postgres", "redshift")),
}
"""What is read in every dialect, and only some have."""
_RESERVED = frozenset(("select", "from", "where", "insert", "update", "delete", "join", "group", "order"))


class SyntaxRule(TypedDict, total=False):
    """Code that the answer is."""

    language: Annotated[Language, Meta(description="The language of the answer.")]
    part: Annotated[Literal[True], Meta(description="Any part of the answer may be in it, such as a fenced block.")]
    elements: Annotated[
        base.Phrases, Meta(description="Elements of XML by their paths from the root: `report.item.0.@id`.")
    ]
    dialect: Annotated[base.Phrase, Meta(description="The dialect of SQL, such as `postgres`.")]
    tables: Annotated[base.Phrases, Meta(description="The SQL uses no other tables.")]
    statements: Annotated[base.Phrases, Meta(description="The SQL has no other statements, such as `select`.")]
    negated: Annotated[Literal[True], Meta(description="Invert the check: it must fail.")]


class SyntaxFinding(NamedTuple):
    """Whether a text is as wanted, and why; None where that is not known."""

    holds: bool | None
    why: str = ""


class AnswerSyntax(base.AnswerCheck, Struct, frozen=True):
    """The answer is SQL, XML or HTML that can be parsed."""

    name: ClassVar = "answer_syntax"
    group: ClassVar = Group.FORMATTING
    field: ClassVar = base.own_field(
        Annotated[list[SyntaxRule], Meta(min_length=1)],
        "The answer is SQL (the extra `sql`), XML or HTML that can be parsed, or contains it in one `part`; one check "
        "per entry.",
    )
    examples: ClassVar = (
        Example({"language": "xml"}, says("<a><b/></a>"), Status.PASSED),
        Example({"language": "xml"}, says("<a><b></a>"), Status.FAILED),
        Example({"language": "xml"}, says("Here: <a/>"), Status.FAILED),
        Example({"language": "xml"}, says('<!DOCTYPE a [<!ENTITY e "e">]><a>&e;</a>'), Status.FAILED),
        Example({"language": "xml", "part": True}, says("Here: <a/>"), Status.PASSED),
        Example({"language": "xml", "elements": ["a.b"]}, says("<a><b/></a>"), Status.PASSED),
        Example({"language": "xml", "elements": ["a.c"]}, says("<a><b/></a>"), Status.FAILED),
        Example({"language": "html"}, says("<p>Hello</p>"), Status.PASSED),
        Example({"language": "html"}, says("Hello <p>Ann</p>"), Status.FAILED),
        Example({"language": "html", "part": True}, says("Hello <p>Ann</p>"), Status.PASSED),
        Example({"language": "html", "part": True, "negated": True}, says("Hello <p>Ann</p>"), Status.FAILED),
        Example({"language": "sql"}, says("SELECT 1", cuts={"final_message": TextLoss("a part")}), Status.UNKNOWN),
    )
    language: Language
    part: bool = False
    elements: tuple[str, ...] = ()
    dialect: str = ""
    tables: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    negated: bool = False

    read = base.read_each()

    @property
    def description(self) -> str:
        start = f"{'not: ' if self.negated else ''}{'contains ' if self.part else ''}{self.language.upper()}"
        dialect = f" of {self.dialect}" if self.dialect else ""
        with_what = f" with {', '.join(self.elements)}" if self.elements else ""
        only = [*self.statements, *(f"table {table}" for table in self.tables)]
        return f"{start}{dialect}{with_what}{f' of nothing but {chr(44).join(only)}' if only else ''}"

    def validate(self) -> Iterator[CheckProblem]:
        of_others = {"sql": ("elements",), "xml": _OF_SQL, "html": ("elements", *_OF_SQL)}[self.language]
        for key in of_others:
            if getattr(self, key):
                yield CheckProblem("no-effect", f"{key!r} has no effect on {self.language.upper()}.", (key,))
        if self.dialect and self.dialect.lower() not in DIALECTS:
            known = ", ".join(sorted(DIALECTS))
            yield CheckProblem("invalid-value", f"unknown dialect {self.dialect!r}. Known: {known}.", ("dialect",))

    def judge(self, trace: Trace) -> CheckResult:
        if why := base.unreadable(trace):
            return self.unknown(why)
        found = getattr(self, f"_{self.language}")(trace.final_message)
        if found.holds is None:
            return self.unknown(found.why)
        detail = found.why or base.quote_answer(trace)
        return self.passed(detail) if found.holds is not self.negated else self.failed(detail)

    def _xml(self, text: str) -> SyntaxFinding:
        try:
            root = find_xml(text) if self.part else parse_xml(text)
        except NotMarkupError as error:
            return SyntaxFinding(False, str(error))
        if root is None:
            return SyntaxFinding(False, "it has no element of XML")
        missing = [path for path in self.elements if not root.holds(path)]
        return SyntaxFinding(not missing, f"it has no {', '.join(missing)}" if missing else "")

    def _html(self, text: str) -> SyntaxFinding:
        if self.part:
            return SyntaxFinding(has_html(text))
        why = why_not_html(text)
        return SyntaxFinding(not why, why)

    def _sql(self, text: str) -> SyntaxFinding:
        found = [self._one_sql(part) for part in (_sql_parts(text) if self.part else [text])]
        holding = (one for one in found if one.holds)
        return next(holding, None) or next((one for one in found if one.holds is None), found[0])

    def _one_sql(self, text: str) -> SyntaxFinding:
        try:
            statements = _parse_sql(text, self.dialect.lower())
        except ImportError:
            return SyntaxFinding(None, NO_LIBRARY + install_extra("sql"))
        if isinstance(statements, str):
            return SyntaxFinding(False, statements)
        if statements is None:
            return SyntaxFinding(None, "it is too long, or too deep, to be parsed")
        if wrong := self._not_permitted(statements):
            return SyntaxFinding(False, wrong)
        doubt = _missing_comma(text, self.dialect.lower()) or _of_other_dialects(text, statements, self.dialect.lower())
        return SyntaxFinding(None if doubt else True, doubt)

    def _not_permitted(self, statements: tuple[Expr, ...]) -> str:
        """The first statement or table that is not among those that are allowed."""
        from sqlglot import exp

        kinds, tables = ({name.lower() for name in names} for names in (self.statements, self.tables))
        for statement in statements:
            if kinds and (kind := _kind(statement)) not in kinds:
                return f"it has the statement {kind}"
            of_queries = {cte.alias_or_name.lower() for cte in statement.find_all(exp.CTE)}
            used = {table.name.lower() for table in statement.find_all(exp.Table)} - of_queries
            if tables and (others := sorted(used - tables)):
                return f"it uses the table {others[0]}"
        return ""


_OF_SQL = ("dialect", "tables", "statements")
DIALECTS = frozenset((
    "athena", "bigquery", "clickhouse", "databricks", "doris", "drill", "druid", "duckdb", "hive", "mysql", "oracle",
    "postgres", "presto", "redshift", "risingwave", "snowflake", "spark", "sqlite", "starrocks", "teradata", "trino",
    "tsql",
))  # fmt: skip


def _columns(modifiers: str) -> re.Pattern[str]:
    """Two words between SELECT, its modifiers and FROM."""
    words = rf"(?!(?:{modifiers}|as)\b)([a-z_]\w*)\s+(?!as\b)([a-z_]\w*)"
    return lazy.pattern(rf"\bselect\s+(?:(?:{modifiers})\s+)*{words}\s+from\b", re.IGNORECASE)


_TWO_WORDS = _columns("all|distinct")
_TWO_WORDS_OF_MYSQL = _columns(r"all|distinct(?:row)?|high_priority|straight_join|sql_\w+")
_TEXT_OF_SQL = lazy.pattern(r"'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`")
_COMMENTS = lazy.pattern(r"--[^\n]*|/\*.*?\*/", re.DOTALL)


def _missing_comma(text: str, dialect: str) -> str:
    """Why valid SQL may not be what was meant: `SELECT a b FROM` has one column, or lacks a comma."""
    words = _TWO_WORDS_OF_MYSQL if dialect in ("", "mysql") else _TWO_WORDS
    found = words.search(_COMMENTS.sub(" ", _TEXT_OF_SQL.sub(" ? ", text)))
    return f"in {found[0]!r} {found[2]!r} is an alias, or a comma is missing: write AS or the comma" if found else ""


def _of_other_dialects(text: str, statements: tuple[Expr, ...], dialect: str) -> str:
    """Why SQL that was parsed may be none of its dialect."""
    kinds = {type(node).__name__ for statement in statements for node in statement.walk()} if dialect else set()
    other = min((kind for kind in kinds & _OF_DIALECTS.keys() if dialect not in _OF_DIALECTS[kind]), default="")
    if not other and dialect not in ("", "mysql") and _SHARE_MODE.search(text):
        other = "LOCK IN SHARE MODE"
    return f"it uses {other}, and it is unknown whether {dialect} has that" if other else ""


_SHARE_MODE = lazy.pattern(r"\block\s+in\s+share\s+mode\b", re.IGNORECASE)


def _kind(statement: Expr) -> str:
    from sqlglot import exp

    return "select" if isinstance(statement, exp.Query) else statement.key


def _sql_parts(text: str) -> list[str]:
    """The fenced blocks of an answer that may be SQL; without one, all of it."""
    blocks: list[str] = []
    opened: re.Match[str] | None = None
    lines: list[str] = []
    for line in text.splitlines():
        fence = _FENCE.fullmatch(line)
        if opened is None:
            opened, lines = fence, []
        elif fence and not fence[2] and fence[1].startswith(opened[1]):
            blocks += ["\n".join(lines)] if opened[2].lower() in ("", "sql") else []
            opened = None
        else:
            lines.append(line)
    return [block for block in blocks if block.strip()] or [text]


@lru_cache(maxsize=64)
def _parse_sql(text: str, dialect: str) -> tuple[Expr, ...] | str | None:
    """The statements of a text, or why it has none; None where it cannot be parsed within bounds."""
    import logging

    import sqlglot  # late: an optional library
    from sqlglot.errors import SqlglotError

    if len(text) > min(LONGEST_SQL, LONGEST):
        return None
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    try:
        statements = [each for each in sqlglot.parse(text, dialect=dialect or None) if each is not None]
    except SqlglotError as error:
        return f"it is not SQL: {base.excerpt(str(error).splitlines()[0])}"
    except RecursionError:
        return None
    if not statements or any(type(each).__name__ not in _STATEMENTS for each in statements):
        return "it is not a statement of SQL"
    if any(map(_is_odd, statements)):
        return "it is not a whole statement of SQL"
    return tuple(statements)


def _is_odd(statement: Expr) -> bool:
    """Whether it was only taken for a statement: it deletes from nothing, or a table is called like a keyword."""
    from sqlglot import exp

    if isinstance(statement, exp.Delete) and not statement.this:
        return True
    if any(isinstance(source.this, exp.Select) for source in statement.find_all(exp.From)):
        return True
    names = (table.this for table in statement.find_all(exp.Table) if isinstance(table.this, exp.Identifier))
    return any(not name.quoted and name.name.lower() in _RESERVED for name in names)
