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
        Option(metavar="A,B", help="Only the cases with these ids; 'refund-*' takes all that begin so."),
    ]
    categories: Annotated[
        Sequence[str] | None,
        Option(flags=("--category",), metavar="C,D", help="Only the cases of these categories."),
    ]
    tags: Annotated[
        Sequence[str] | None,
        Option(flags=("--tag",), metavar="T,U", help="Only the cases with one of these tags."),
    ]
    keyword: Annotated[
        str | None,
        Option(
            flags=("-k",),
            metavar="EXPRESSION",
            help="Only cases whose id, category or tags hold these words: 'refund and not slow'.",
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
    concurrency: Annotated[int, Option(default=1, least=1, most=10_000, help="Cases at once per worker.")]
    workers: Annotated[
        int | None,
        Option(
            least=0,
            most=1_000,
            help="Processes; 0 runs in this one, for debugging.",
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
        Option(metavar="A", help="The Ray cluster, or 'auto' for one that runs here; without it, one is started."),
    ]
    rate: Annotated[str | None, Option(metavar="30/min", help="Start no more cases than this.")]
    retries: Annotated[
        int,
        Option(default=0, least=0, most=1_000, help="Further attempts after an error (never after a failed check)."),
    ]
    backoff: Annotated[
        float,
        Option(
            default=1.0,
            over=0,
            metavar="S",
            help="Seconds before the first retry; each further one waits twice as long.",
        ),
    ]
    tape: Annotated[
        TapeMode | None,
        Option(
            help="Answer for models and services from the suite's tape: replay it, follow it by position, "
            "record it, or extend it by what is missing.",
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
            help="Where the journal and the reports go.",
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
        int, Option(default=50, least=2, most=1_000_000, help="With --repeat auto: runs of a case at most.")
    ]
    min_pass_rate: Annotated[
        float | None,
        Option(
            over=0,
            under=1,
            metavar="R",
            help="With --repeat auto: of cases that have none.",
            default_text="0.8",
        ),
    ]
    confidence: Annotated[
        float | None,
        Option(over=0.5, under=1, metavar="C", help="With --repeat auto: how sure.", default_text="0.95"),
    ]
    baseline: Annotated[
        str | None,
        Option(metavar="B", help="With --confirm: what a case must have fallen from, such as @baseline or @last-5."),
    ]
    confirm: Annotated[
        int,
        Option(
            default=0,
            least=0,
            most=1_000,
            metavar="N",
            help="Run each case N times more that fell from --baseline: one flip of a flaky case proves no break.",
        ),
    ]
    run_timeout: Annotated[
        float | None, Option(over=0, metavar="S", help="Seconds for the run of a suite; resume the rest.")
    ]
    shuffle: Annotated[int | None, Option(metavar="SEED", help="Run in an order that the seed decides.")]
    max_failures: Annotated[
        int | None, Option(least=1, most=1 << 32, metavar="N", help="Stop after N cases that fail or err.")
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
        Option(help="Run the code that the suite holds, such as javascript assertions, in processes of its own."),
    ]
    allow_partial: Annotated[
        bool | None, Option(help="Accept PARTIAL cases that met their threshold and have no UNKNOWN check.")
    ]
    allow_unknown: Annotated[bool | None, Option(help="Accept cases with UNKNOWN checks.")]
    allow_unjudged: Annotated[
        bool | None, Option(help="Leave what is not judged by nature to another tool; something else must be judged.")
    ]


def declared(keywords: type) -> dict[str, Option]:
    """The options that a class of keywords declares, by name and in order."""
    hints = get_type_hints(keywords, include_extras=True)
    return {name: replace(hint.__metadata__[0], name=name, type=hint.__origin__) for name, hint in hints.items()}


SELECTION = declared(SelectionKeywords)
HOW_TO_RUN = declared(HowToRun)
