"""A command line → the simple commands that a shell would run, as far as the line itself shows them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import Struct, structs

from carob.text.words import PUBLISHED

LONGEST = 1 << 16
DEEPEST = 6
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_ASSIGNED = re.compile(r"(?<![^\s;&|(])[A-Za-z_]\w*\+?=(\"[^\"]*\"|'[^']*'|[^\s;&|)]*)")
_OPERATOR = re.compile(r"[;&|\n()]+")
_DISCARDED = re.compile(r"(?<!\w)(?:\d*|&)>>?\s*(?:/dev/(?:null|stdout|stderr|tty)\b|&\s*[\d-])|(?<!\w)\d(?=>)")
_KEYWORDS = frozenset(
    [
        "if",
        "then",
        "else",
        "elif",
        "fi",
        "for",
        "while",
        "until",
        "do",
        "done",
        "case",
        "esac",
        "function",
        "select",
        "{",
        "}",
        "!",
        "[[",
        "time",
    ]
)
_EXPANSION = re.compile(r"[$`]")


class SimpleCommand(Struct, frozen=True):
    """One command of a line: its words without assignments and redirections, and what comes before it."""

    words: tuple[str, ...]
    after: str = ""
    """The operator before it: empty for the first, else `&&`, `||`, `|`, `;` or `&`."""
    redirects: bool = False
    """Whether its output may go to a file."""
    step: int = 0
    """Its place in the line; what a wrapper or a nested shell runs has the place of that, or follows it."""

    @property
    def line(self) -> str:
        return " ".join((self.words[0].rpartition("/")[2] or self.words[0], *self.words[1:]))


class CommandLine(Struct, frozen=True):
    """A whole line. `why_unread`: why it may run what is not among its commands; empty if it cannot."""

    text: str
    commands: tuple[SimpleCommand, ...] = ()
    why_unread: str = ""
    is_chain: bool = True
    """Whether its exit code is that of its commands: each ran if all before it succeeded, and nothing else did."""

    @property
    def last_step(self) -> int:
        return max((command.step for command in self.commands), default=0)

    @property
    def texts(self) -> tuple[str, ...]:
        """What a regex is searched in: the line, and each of its commands without quotes."""
        return tuple(dict.fromkeys((self.text, *(command.line for command in self.commands))))


def name_of(words: Sequence[str]) -> str:
    """The program without its folder."""
    return (words[0].rpartition("/")[2] or words[0]) if words else ""


def assigned_words(line: str) -> list[str]:
    """The words of what a line gives to variables."""
    return [word for value in _ASSIGNED.findall(line) for word in value.strip("\"'").split()]


def line_of_argv(argv: Sequence[str]) -> str:
    """The words of a command, the program without its folder, as a line without quotes."""
    return " ".join((argv[0].rpartition("/")[2] or argv[0], *argv[1:])) if argv else ""


def shell_line(argv: Sequence[str]) -> str | None:
    """The line that a shell is asked to run by `-c`; None for any other command."""
    if not argv or argv[0].rpartition("/")[2].removeprefix("-") not in PUBLISHED.entries("shells"):
        return None
    for number, word in enumerate(argv[1:], 1):
        if word.startswith("-") and not word.startswith("--") and "c" in word:
            return next((given for given in argv[number + 1 :] if given[:1] not in "-+" or not given), None)
        if not word.startswith("-"):
            return None
    return None


def wrapped_words(words: Sequence[str]) -> tuple[str, ...]:
    """What a wrapper such as `timeout 60` or `env A=b` runs; nothing if the command is none."""
    name = words[0].rpartition("/")[2] if words else ""
    wrappers = PUBLISHED.entries("command_wrappers")
    taken = 2 if len(words) > 1 and f"{name} {words[1]}" in wrappers else 1 if name in wrappers else 0
    if not taken:
        return ()
    rest = list(words[taken:])
    while rest and (rest[0].startswith("-") or _ASSIGNMENT.match(rest[0]) or re.fullmatch(r"[\d.]+[smhd]?", rest[0])):
        del rest[0]
    return tuple(rest)


@lru_cache(maxsize=2048)
def read_line(text: str) -> CommandLine:
    """The commands of a line, those that a nested shell or a wrapper runs included."""
    return _read(text, 0)


def read_command(command: object) -> CommandLine | None:
    """The same for an argument of a tool: a line, or a list of words."""
    if isinstance(command, str):
        return read_line(command) if command.strip() else None
    if isinstance(command, list | tuple) and command and all(isinstance(word, str) for word in command):
        inner = shell_line(command)
        return read_line(inner if inner is not None else shlex.join(command))
    return None


def _read(text: str, depth: int) -> CommandLine:
    if len(text) > LONGEST or depth > DEEPEST:
        return CommandLine(text[:LONGEST], why_unread="the command line is too long to be read", is_chain=False)
    try:
        parts = list(_split(text))
    except ValueError as error:
        return CommandLine(text, why_unread=f"the command line cannot be read: {error}", is_chain=False)
    commands: list[SimpleCommand] = []
    why, is_chain = "", all(part.after in ("", "&&") for part in parts)
    if not text.rstrip().endswith(("&&", "||")) and text.rstrip().endswith("&"):
        is_chain = False
    step = 0
    for part in parts:
        inner = _read_inner(part, depth)
        if inner is None:
            commands.append(structs.replace(part, step=step))
            step += 1
            why = why or _why_unreadable(part)
            is_chain = is_chain and part.words[0] not in _KEYWORDS
            continue
        commands.append(structs.replace(part, step=step + inner.last_step))
        commands += [structs.replace(command, step=step + command.step) for command in inner.commands]
        step += inner.last_step + 1
        why = why or inner.why_unread
        is_chain = is_chain and inner.is_chain
    return CommandLine(text, tuple(commands), why, is_chain)


def _read_inner(part: SimpleCommand, depth: int) -> CommandLine | None:
    """What a nested shell or a wrapper runs; None for a plain command."""
    inner = shell_line(part.words)
    if inner is not None:
        return _read(inner, depth + 1)
    words = wrapped_words(part.words)
    if not words:
        return None
    read = _read(shlex.join(words), depth + 1)
    option = part.words[-len(words) - 1]
    if len(words) > 1 and option.startswith("-") and "=" not in option:
        # `uv run --extra dev pytest`: whether the option takes a word is known to the wrapper alone.
        other = _read(shlex.join(words[1:]), depth + 1)
        return structs.replace(read, commands=(*read.commands, *other.commands))
    return read


def _split(text: str) -> Iterator[SimpleCommand]:
    """The simple commands of a line in order. Raises ValueError where quotes are not closed."""
    lexer = shlex.shlex(_DISCARDED.sub(" ", text), posix=True, punctuation_chars=";&|()<>\n")
    lexer.whitespace = " \t\r"
    lexer.commenters = ""
    lexer.wordchars += "~-./*?=+,:@%^!{}[]$`#"
    words: list[str] = []
    after, redirects, takes_file = "", False, False
    for token in lexer:
        if _OPERATOR.fullmatch(token):
            operator = _name_operator(token)
            if words:
                yield SimpleCommand(tuple(words), after, redirects)
                words, redirects = [], False
                after = operator
            elif operator != "&&" and after in ("", "&&") and token.strip("\n"):
                after = operator
            takes_file = False
        elif token and set(token) <= set("<>&"):
            redirects = redirects or ">" in token
            takes_file = True
        elif takes_file:
            takes_file = False
        elif words or not _ASSIGNMENT.match(token):
            if token not in _KEYWORDS or words:
                words.append(token)
            else:
                after = after if after not in ("", "&&") else ";"
    if words:
        yield SimpleCommand(tuple(words), after, redirects)


def _name_operator(token: str) -> str:
    """`&&`, or what breaks a chain."""
    plain = token.replace("\n", ";").strip("()") or ";"
    return plain if plain in ("&&", "||", "|", "&") else ";"


def _why_unreadable(part: SimpleCommand) -> str:
    """Why a command may run what the line does not show."""
    name = part.words[0].rpartition("/")[2]
    if _EXPANSION.search(part.words[0]) or any("$(" in word or "`" in word for word in part.words):
        return f"{part.line[:80]!r} runs what the line does not show"
    if "/" in part.words[0] and not part.words[0].startswith(("/usr/", "/bin/", "/opt/", "/sbin/", "/")):
        return f"{part.line[:80]!r} runs a file of the workspace"
    if name in PUBLISHED.entries("unreadable_commands") and len(part.words) > 1:
        is_module = name.startswith("python") and part.words[1] in ("-m", "--version", "-V")
        is_search = name == "find" and not {"-exec", "-execdir", "-ok", "-delete"} & set(part.words)
        is_filter = name in ("sed", "awk") and not any(word.startswith(("-i", "--in-place")) for word in part.words)
        if not (is_module or is_search or is_filter):
            return f"{part.line[:80]!r} may run what the line does not show"
    return ""


def may_change_files(command: SimpleCommand) -> bool:
    """Whether a command is none of the published ones that only read."""
    reading = PUBLISHED.entries("reading_commands")
    name = command.words[0].rpartition("/")[2]
    two = f"{name} {command.words[1]}" if len(command.words) > 1 else name
    is_reader = name in reading or two in reading
    return command.redirects or not is_reader
