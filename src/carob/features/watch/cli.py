"""`carob watch`"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from carob.cli.options import AT_LEAST_ONE, PATH, PORTS, Seconds
from carob.errors import ExitCode, UsageError

MORE_THAN_NONE = click.FloatRange(min=0, min_open=True)


@click.command()
@click.option(
    "--rules", "rules", multiple=True, metavar="FILE", help="A file of rules (default: `rules` of carob.toml)."
)
@click.option("--suite", metavar="FILE", help="A suite: its rules, and what its `defaults` expect.")
@click.option("--port", type=PORTS, default=4318, metavar="N", help="Listen here; 0 for any port.")
@click.option("--host", default="127.0.0.1", metavar="ADDRESS", help="Listen here. Elsewhere than on this machine, a "
              "token is needed.")  # fmt: skip
@click.option("--token-env", default="", show_default=False, metavar="NAME",
              help="The variable with the token that requests must have: `Authorization: Bearer TOKEN`.")  # fmt: skip
@click.option("--quiet", type=Seconds(), default=5.0, metavar="SECONDS",
              help="Judge a conversation once it is complete and nothing came of it for so long.")  # fmt: skip
@click.option("--patience", type=Seconds(), default=60.0, metavar="SECONDS",
              help="Judge one that lacks its root or a parent after so long; what that hides is unknown.")  # fmt: skip
@click.option("--resend", type=Seconds(), default=10.0, metavar="SECONDS",
              help="Exporters send again for so long what was not taken (a Collector: 300). After a longer stop, turns "
              "of sessions may be missing, and what they hide is unknown.")  # fmt: skip
@click.option("--export", default="", show_default=False, metavar="URL",
              help="Send verdicts to this address as events of OpenTelemetry, over OTLP/HTTP.")  # fmt: skip
@click.option("--folder", type=PATH, metavar="DIR", show_default="watch, in the folder of results",
              help="Where spans and the journal are kept.")  # fmt: skip
@click.option("--max-conversations", type=AT_LEAST_ONE, default=20_000, metavar="N",
              help="Hold so many open conversations. Of more, each is dropped, and unknown.")  # fmt: skip
@click.option("--max-spans", type=AT_LEAST_ONE, default=2_000, metavar="N", help="Hold so many spans of one.")
@click.option("--max-size", type=MORE_THAN_NONE, default=8, metavar="MB", help="Hold so much of one conversation.")
@click.option("--room", type=MORE_THAN_NONE, default=512, metavar="MB", help="Hold so much of all conversations.")
@click.option("--keep-hours", type=MORE_THAN_NONE, default=24, metavar="HOURS",
              help="Hold spans so long after they were judged, for turns and spans that come later.")  # fmt: skip
@click.option(
    "--keep-personal-data", is_flag=True, help="Do not mask email addresses, phone, card and account numbers and keys."
)
def command(token_env: str, folder: Path | None, **how: Any) -> int:
    """Judge conversations as they happen, by the spans that an agent or a Collector sends over OTLP/HTTP.

    A turn is judged once its root span has ended, all parents are there, and nothing more came for --quiet seconds.
    Spans that come later have the conversation judged again. A rule is held, broken, unknown or not triggered, as
    `carob check` says of the same spans in a file.

    \b
    What comes out:
      here         a line for each conversation that broke a rule
      /metrics     counters by rule and verdict, for Prometheus
      --folder     a journal of those, and of what is unknown, for `carob view`
      --export     an event `gen_ai.evaluation.result` for each rule, with trace and span

    \b
    Examples:
      carob watch --rules policy.carob.yaml
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:4318/v1/traces python agent.py
      carob watch --rules policy.carob.yaml --port 4319 --export http://127.0.0.1:4318
      carob watch --rules policy.carob.yaml --host 0.0.0.0 --token-env CAROB_WATCH_TOKEN

    Rules are read again when their file changes. Ctrl-C or SIGTERM judges what is complete and ends it; what is not
    is judged at the next start. The exit code is 0 however the conversations came out, 3 if the end could not be
    written, 4 if it cannot start.
    """
    from carob.cli.main import print_error
    from carob.features.watch import library

    token = os.environ.get(token_env, "") if token_env else ""
    if token_env and not token:
        fix = f"Set it: export {token_env}=..."
        raise UsageError(f"--token-env: the variable {token_env} is not set.", fix=fix, slug="watch-token")
    watch = library.open_watch(folder=folder, token=token, say=_with_name(print_error), **how)

    def stop(number: int, _: object) -> None:
        signal.signal(number, signal.default_int_handler)  # who asks twice does not wait for the end
        watch.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    try:
        _print_lines(watch.describe(), print_error)
        watch.run()
    finally:
        watch.close()
    _print_lines(watch.summarize(), print_error)
    return ExitCode.OK if watch.ended_well else ExitCode.INTERNAL


def _with_name(show: Callable[[str], None]) -> Callable[[str], None]:
    return lambda line: show(f"carob: {line}")


def _print_lines(lines: list[str], show: Callable[[str], None]) -> None:
    for line in lines:
        show(line)
