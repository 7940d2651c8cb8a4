"""The options of a run, each declared once: its type, default, bounds, help and how the command line spells it.

`carob run`, `resume` and `rerun`, the keywords of their functions in the library, and the table in docs/running.md are
all made of these declarations. Nothing here loads more than the command line needs to show its help.
"""

# Without `from __future__ import annotations`: these annotations are read when a command starts.

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypedDict, get_type_hints

from carob.errors import UsageError

ExecutorName: TypeAlias = Literal["processes", "ray"]
Repeats: TypeAlias = int | Literal["auto"]
TapeMode: TypeAlias = Literal["replay", "record", "extend", "follow"]


AS_BEFORE = "as in the journal"


@dataclass(frozen=True, slots=True)
class Option:
    """What is known of an option; name and type are those of the keyword that it is declared for.

    `default_text` says what holds where the default is None; `help_again` is for `run --resume` and `--failed`, where
    it differs. `is_pace`: they take it from the journal. A number is at least `least` and at most `most`, or between
    `over` and `under`.
    """

    help: str
    help_again: str = ""
    default: object = None
    default_text: str = ""
    is_pace: bool = False
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    least: int | None = None
    most: int | None = None
    over: float | None = None
    under: float = math.inf
    name: str = ""
    type: Any = None

    @property
    def spellings(self) -> tuple[str, ...]:
        """How the command line spells it."""
        return self.flags or (f"--{self.name.replace('_', '-')}",)

    def describe(self, *, again: bool = False) -> str:
        """The help of `run`, or that of `run --resume` and `--failed`, with what the default means."""
        if again and self.help_again:
            return self.help_again
        said, default = self.help, AS_BEFORE if again and self.is_pace else self.default_text
        return f"{said[:-1]} (default: {default})." if default else said

    @property
    def bounds(self) -> str:
        """Which numbers it takes, in words."""
        least = "" if self.least is None else f"at least {self.least}"
        over = "" if self.over is None else f"over {self.over:g}"
        return least or over + (f" and under {self.under:g}" if self.under < math.inf else "")

    def refuse_out_of_bounds(self, given: Any) -> None:
        """Raise UsageError for a number outside the bounds; a word such as `auto` has none."""
        if given is None or isinstance(given, str):
            return
        low = given < self.least if self.least is not None else self.over is not None and not given > self.over
        high = self.most is not None and given > self.most
        if low or high or not given < self.under:
            bound = f"at most {self.most:,}" if high else self.bounds
            raise UsageError(f"`{self.name}` must be {bound}, not {given}.", slug="bad-option")


class SelectionKeywords(TypedDict, total=False):
    """Which cases: for `run` and `list`."""

    cases: Annotated[
        Sequence[str] | None, Option("Only cases with these ids; * and ? are wildcards: 'refund-*'.", metavar="A,B")
    ]
    categories: Annotated[
        Sequence[str] | None,
        Option("Only cases of these categories, or with a tag of that name.", flags=("--category",), metavar="C,D"),
    ]
    tags: Annotated[Sequence[str] | None, Option("Only cases with one of these tags.", flags=("--tag",), metavar="T,U")]
    keyword: Annotated[
        str | None,
        Option(
            "Only cases whose id, category or tags contain these words: 'refund and not slow'.",
            flags=("-k",),
            metavar="EXPRESSION",
        ),
    ]


class CaseKeywords(TypedDict, total=False):
    """How to run a single case: for whatever runs cases."""

    timeout: Annotated[
        float | None,
        Option(
            "Seconds for one case.",
            over=0,
            metavar="S",
            default_text="the target's, or 300",
            is_pace=True,
        ),
    ]
    concurrency: Annotated[
        int, Option("Cases that run at once in each worker.", default=1, least=1, most=10_000, is_pace=True)
    ]
    workers: Annotated[
        int | None,
        Option(
            "Worker processes; 0 runs in Carob's own process, for debugging.",
            least=0,
            most=1_000,
            default_text="1; 0 for a recording or a Python object",
            is_pace=True,
        ),
    ]
    executor: Annotated[
        ExecutorName,
        Option(
            "Where the workers are: on this machine, or on a Ray cluster (one per processor).",
            default="processes",
            is_pace=True,
        ),
    ]
    ray_address: Annotated[
        str | None,
        Option(
            "Address of the Ray cluster, or 'auto' for one on this machine; without it, one is started.",
            metavar="A",
            is_pace=True,
        ),
    ]
    rate: Annotated[
        str | None, Option("Maximum rate at which cases start, such as 30/min.", metavar="30/min", is_pace=True)
    ]
    retries: Annotated[
        int,
        Option(
            "Attempts to repeat a case after an error (never after a failed check).",
            default=0,
            least=0,
            most=1_000,
            is_pace=True,
        ),
    ]
    backoff: Annotated[
        float,
        Option(
            "Seconds before the first retry; each later one waits twice as long.",
            default=1.0,
            over=0,
            metavar="S",
            is_pace=True,
        ),
    ]
    tape: Annotated[
        TapeMode | None,
        Option(
            "Record the agent's traffic with models and services on the suite's tape, or replay it; extend "
            "adds what is missing, follow replays by position.",
            default_text="`mode` of [tape] in carob.toml, or none",
        ),
    ]
    guard: Annotated[
        str | None,
        Option(
            "Hold the agent's calls to the rules of this file before they are made, as a guard does in production.",
            metavar="POLICY",
        ),
    ]
    keep_workspaces: Annotated[
        bool | None,
        Option("Keep the workspaces of cases that do not pass, to look at them."),
    ]
    options: Annotated[
        Mapping[str, object] | None,
        Option("An option of the target; overrides carob.toml.", flags=("-o", "--option"), metavar="KEY=VALUE"),
    ]
    results_dir: Annotated[
        str | Path | None,
        Option(
            "Folder for the journal and the reports.",
            metavar="D",
            default_text="results_dir of carob.toml, or carob-results",
            help_again="Folder for the journal and the reports (default: next to the old journal).",
        ),
    ]


class HowToRun(CaseKeywords, total=False):
    """How to run the cases of a suite, and what to write: for `run`, `resume` and `rerun`."""

    repeat: Annotated[
        Repeats,
        Option(
            "Runs of each case; 'auto': until its pass rate is known.",
            default=1,
            least=1,
            most=1_000_000,
            help_again="Runs of each case, if more than before.",
        ),
    ]
    max_repeats: Annotated[
        int, Option("With --repeat auto: maximum runs of a case.", default=50, least=2, most=1_000_000)
    ]
    min_pass_rate: Annotated[
        float | None,
        Option(
            "With --repeat auto: pass rate for cases that have no min_pass_rate.",
            over=0,
            under=1,
            metavar="R",
            default_text="0.8",
        ),
    ]
    confidence: Annotated[
        float | None,
        Option("With --repeat auto: confidence level.", over=0.5, under=1, metavar="C", default_text="0.95"),
    ]
    baseline: Annotated[
        str | None,
        Option(
            "With --confirm or --guard: the earlier runs to compare with, such as @baseline or @last-5.", metavar="B"
        ),
    ]
    confirm: Annotated[
        int,
        Option(
            "Repeat each case that passed in --baseline and fails now N times, to tell broken from flaky.",
            default=0,
            least=0,
            most=1_000,
            metavar="N",
        ),
    ]
    run_timeout: Annotated[
        float | None,
        Option(
            "Seconds for the run of a suite; `carob run --resume` runs the rest.", over=0, metavar="S", is_pace=True
        ),
    ]
    shuffle: Annotated[int | None, Option("Run cases in random order, with this seed.", metavar="SEED")]
    max_failures: Annotated[
        int | None, Option("Stop after N cases that fail or end in an error.", least=1, most=1 << 32, metavar="N")
    ]
    reports: Annotated[
        Sequence[str],
        Option(
            "Write another report, next to the journal or to PATH. Repeatable.",
            default=(),
            flags=("--report",),
            metavar="NAME[=PATH]",
        ),
    ]
    trust_code: Annotated[
        bool | None, Option("Run code in the suite, such as javascript assertions, in separate processes.")
    ]
    allow_partial: Annotated[
        bool | None, Option("Accept PARTIAL cases that met their threshold and have no UNKNOWN check.")
    ]
    allow_unknown: Annotated[bool | None, Option("Accept cases with UNKNOWN checks.")]
    allow_unjudged: Annotated[
        bool | None,
        Option("Accept cases with expectations that Carob does not judge, if it judged something else in them."),
    ]


def declared_options(keywords: type) -> dict[str, Option]:
    """The options that a class of keywords declares, by name and in order."""
    hints = get_type_hints(keywords, include_extras=True)
    return {name: replace(hint.__metadata__[0], name=name, type=hint.__origin__) for name, hint in hints.items()}


SELECTION = declared_options(SelectionKeywords)
HOW_TO_RUN = declared_options(HowToRun)
