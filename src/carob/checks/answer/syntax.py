"""The answer as code: SQL, XML or HTML that can be parsed."""

from __future__ import annotations

from collections.abc import Iterator
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
_FENCE = lazy.pattern(
    r"^[ \t]{0,3}(`{3,}|~{3,})[ \t]*(\w*)[ \t]*$\n(.*?)^[ \t]{0,3}\1[`~]*[ \t]*$", 24
)  # DOTALL, MULTILINE
_NO_STATEMENTS = ("Alias", "Column", "Literal", "Command", "Paren", "Neg", "Boolean", "Null", "Block")
"""What is parsed as an expression, or not at all, is not a statement."""


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


class Finding(NamedTuple):
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

    def _xml(self, text: str) -> Finding:
        try:
            root = find_xml(text) if self.part else parse_xml(text)
        except NotMarkupError as error:
            return Finding(False, str(error))
        if root is None:
            return Finding(False, "it has no element of XML")
        missing = [path for path in self.elements if not root.holds(path)]
        return Finding(not missing, f"it has no {', '.join(missing)}" if missing else "")

    def _html(self, text: str) -> Finding:
        if self.part:
            return Finding(has_html(text))
        why = why_not_html(text)
        return Finding(not why, why)

    def _sql(self, text: str) -> Finding:
        found = [self._one_sql(part) for part in (_sql_parts(text) if self.part else [text])]
        holding = (one for one in found if one.holds)
        return next(holding, None) or next((one for one in found if one.holds is None), found[0])

    def _one_sql(self, text: str) -> Finding:
        try:
            statements = _parse_sql(text, self.dialect.lower())
        except ImportError:
            return Finding(None, NO_LIBRARY + install_extra("sql"))
        if isinstance(statements, str):
            return Finding(False, statements)
        if statements is None:
            return Finding(None, "it is too long, or too deep, to be parsed")
        if wrong := self._not_permitted(statements):
            return Finding(False, wrong)
        doubt = _missing_comma(text)
        return Finding(None if doubt else True, doubt)

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
DIALECTS = frozenset(
    [
        "athena",
        "bigquery",
        "clickhouse",
        "databricks",
        "doris",
        "drill",
        "druid",
        "duckdb",
        "hive",
        "mysql",
        "oracle",
        "postgres",
        "presto",
        "prql",
        "redshift",
        "risingwave",
        "snowflake",
        "spark",
        "sqlite",
        "starrocks",
        "tableau",
        "teradata",
        "trino",
        "tsql",
    ]
)
_ALIAS_OR_COMMA = lazy.pattern(
    r"\bselect\s+(?:distinct\s+|all\s+)?(?!distinct\b|all\b)([a-z_]\w*)\s+(?!as\b)([a-z_]\w*)\s+from\b", 2
)
_TEXT_OF_SQL = lazy.pattern(r"'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`|--[^\n]*|/\*.*?\*/", 16)


def _missing_comma(text: str) -> str:
    """Why valid SQL may not be what was meant: `SELECT a b FROM` has one column, or lacks a comma."""
    found = _ALIAS_OR_COMMA.search(_TEXT_OF_SQL.sub(" ? ", text))
    return f"in {found[0]!r} {found[2]!r} is an alias, or a comma is missing: write AS or the comma" if found else ""


def _kind(statement: Expr) -> str:
    from sqlglot import exp

    return "select" if isinstance(statement, exp.Query) else statement.key


def _sql_parts(text: str) -> list[str]:
    """The fenced blocks of an answer that may be SQL; without one, all of it."""
    blocks = [block[3] for block in _FENCE.finditer(f"{text}\n") if block[2].lower() in ("", "sql")]
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
    if not statements or any(type(each).__name__ in _NO_STATEMENTS for each in statements):
        return "it is not a statement of SQL"
    return tuple(statements)
