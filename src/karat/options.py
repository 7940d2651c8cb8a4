"""The options of a run, each declared once: its type, default, bounds, help and how the command line spells it.

`karat run`, `resume` and `rerun`, the keywords of their functions in the library, and the table in docs/running.md are
all made of these declarations. Nothing here loads more than the command line needs to show its help.
"""

# Without `from __future__ import annotations`: these annotations are read when a command starts.

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypedDict, get_type_hints

from karat.errors import UsageError

ExecutorName: TypeAlias = Literal["processes", "ray"]
Repeats: TypeAlias = int | Literal["auto"]
TapeMode: TypeAlias = Literal["replay", "record", "extend", "follow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """What is known of an option; name and type are those of the keyword that it is declared for.

    `default_text` says what holds where the default is None; `help_again` and `default_text_again` are for `resume` and
    `rerun`, where they differ. A number is at least `least` and at most `most`, or between `over` and `under`.
    """

    help: str
    help_again: str = ""
    default: object = None
    default_text: str = ""
    default_text_again: str = ""
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
        """The help of `run`, or that of `resume` and `rerun`, with what the default means."""
        said = (again and self.help_again) or self.help
        default = (again and self.default_text_again) or self.default_text
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
        Sequence[str] | None,
        Option(metavar="A,B", help="Only cases with these ids; * and ? are wildcards: 'refund-*'."),
    ]
    categories: Annotated[
        Sequence[str] | None,
        Option(flags=("--category",), metavar="C,D", help="Only cases of these categories."),
    ]
    tags: Annotated[
        Sequence[str] | None,
        Option(flags=("--tag",), metavar="T,U", help="Only cases with one of these tags."),
    ]
    keyword: Annotated[
        str | None,
        Option(
            flags=("-k",),
            metavar="EXPRESSION",
            help="Only cases whose id, category or tags contain these words: 'refund and not slow'.",
        ),
    ]


class CaseKeywords(TypedDict, total=False):
    """How to run a single case: for whatever runs cases."""

    timeout: Annotated[
        float | None,
        Option(
            over=0,
            metavar="S",
            help="Seconds for one case.",
            default_text="the target's, or 300",
            default_text_again="as in the journal",
        ),
    ]
    concurrency: Annotated[int, Option(default=1, least=1, most=10_000, help="Cases that run at once in each worker.")]
    workers: Annotated[
        int | None,
        Option(
            least=0,
            most=1_000,
            help="Worker processes; 0 runs in Karat's own process, for debugging.",
            default_text="1; 0 for a target that is a Python object",
        ),
    ]
    executor: Annotated[
        ExecutorName,
        Option(
            default="processes",
            help="Where the workers are: on this machine, or on a Ray cluster (one per processor).",
        ),
    ]
    ray_address: Annotated[
        str | None,
        Option(
            metavar="A",
            help="Address of the Ray cluster, or 'auto' for one on this machine; without it, one is started.",
        ),
    ]
    rate: Annotated[str | None, Option(metavar="30/min", help="Maximum rate at which cases start, such as 30/min.")]
    retries: Annotated[
        int,
        Option(
            default=0,
            least=0,
            most=1_000,
            help="Attempts to repeat a case after an error (never after a failed check).",
        ),
    ]
    backoff: Annotated[
        float,
        Option(
            default=1.0,
            over=0,
            metavar="S",
            help="Seconds before the first retry; each later one waits twice as long.",
        ),
    ]
    tape: Annotated[
        TapeMode | None,
        Option(
            help="Record the agent's traffic with models and services on the suite's tape, or replay it; extend "
            "adds what is missing, follow replays by position.",
            default_text="`mode` of [tape] in karat.toml, or none",
        ),
    ]
    options: Annotated[
        Mapping[str, object] | None,
        Option(flags=("-o", "--option"), metavar="KEY=VALUE", help="An option of the target; overrides karat.toml."),
    ]
    results_dir: Annotated[
        str | Path | None,
        Option(
            metavar="D",
            help="Folder for the journal and the reports.",
            default_text="results_dir of karat.toml, or karat-results",
            default_text_again="next to the old journal",
        ),
    ]


class HowToRun(CaseKeywords, total=False):
    """How to run the cases of a suite, and what to write: for `run`, `resume` and `rerun`."""

    repeat: Annotated[
        Repeats,
        Option(
            default=1,
            least=1,
            most=1_000_000,
            help="Runs of each case; 'auto': until its pass rate is known.",
            help_again="Runs of each case, if more than before.",
        ),
    ]
    max_repeats: Annotated[
        int, Option(default=50, least=2, most=1_000_000, help="With --repeat auto: maximum runs of a case.")
    ]
    min_pass_rate: Annotated[
        float | None,
        Option(
            over=0,
            under=1,
            metavar="R",
            help="With --repeat auto: pass rate for cases that have no min_pass_rate.",
            default_text="0.8",
        ),
    ]
    confidence: Annotated[
        float | None,
        Option(over=0.5, under=1, metavar="C", help="With --repeat auto: confidence level.", default_text="0.95"),
    ]
    baseline: Annotated[
        str | None,
        Option(metavar="B", help="With --confirm: the earlier runs to compare with, such as @baseline or @last-5."),
    ]
    confirm: Annotated[
        int,
        Option(
            default=0,
            least=0,
            most=1_000,
            metavar="N",
            help="Repeat each case that passed in --baseline and fails now N times, to tell broken from flaky.",
        ),
    ]
    run_timeout: Annotated[
        float | None, Option(over=0, metavar="S", help="Seconds for the run of a suite; `karat resume` runs the rest.")
    ]
    shuffle: Annotated[int | None, Option(metavar="SEED", help="Run cases in random order, with this seed.")]
    max_failures: Annotated[
        int | None, Option(least=1, most=1 << 32, metavar="N", help="Stop after N cases that fail or end in an error.")
    ]
    reports: Annotated[
        Sequence[str],
        Option(
            default=(),
            flags=("--report",),
            metavar="NAME[=PATH]",
            help="Write another report, next to the journal or to PATH. Repeatable.",
        ),
    ]
    trust_code: Annotated[
        bool | None,
        Option(help="Run code in the suite, such as javascript assertions, in separate processes."),
    ]
    allow_partial: Annotated[
        bool | None, Option(help="Accept PARTIAL cases that met their threshold and have no UNKNOWN check.")
    ]
    allow_unknown: Annotated[bool | None, Option(help="Accept cases with UNKNOWN checks.")]
    allow_unjudged: Annotated[
        bool | None,
        Option(help="Accept cases with expectations that Karat does not judge, if it judged something else in them."),
    ]


def declared_options(keywords: type) -> dict[str, Option]:
    """The options that a class of keywords declares, by name and in order."""
    hints = get_type_hints(keywords, include_extras=True)
    return {name: replace(hint.__metadata__[0], name=name, type=hint.__origin__) for name, hint in hints.items()}


SELECTION = declared_options(SelectionKeywords)
HOW_TO_RUN = declared_options(HowToRun)
