"""The library of watching: what `carob` offers of it in Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from carob.api import find_config
from carob.engine.rescoring import (
    default_results_dir,
)
from carob.suites.documents.source import SuiteSource

if TYPE_CHECKING:
    from carob.features.watch.session import ConversationWatch


def open_watch(
    rules: SuiteSource | Sequence[str | Path] = (),
    *,
    suite: SuiteSource | None = None,
    folder: str | Path | None = None,
    host: str = "127.0.0.1",
    port: int = 4318,
    token: str = "",
    quiet: float = 5.0,
    patience: float = 60.0,
    resend: float = 10.0,
    export: str = "",
    max_conversations: int = 20_000,
    max_spans: int = 2_000,
    max_size: float = 8,
    room: float = 512,
    keep_hours: float = 24,
    keep_personal_data: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> ConversationWatch:
    """Listen for spans, and judge conversations as they come: `run` judges until `stop`, then `close` ends it.

    The arguments are the options of `carob watch`; `token` is the token itself. `say` gets the lines that it prints.
    """
    from carob.features.watch.session import ConversationWatch, WatchOptions
    from carob.features.watch.tables import StoreLimits

    config = find_config()
    options = WatchOptions(
        folder=default_results_dir("suite.json", config) / "watch" if folder is None else Path(folder),
        host=host,
        port=port,
        token=token,
        quiet=quiet,
        patience=patience,
        resend=resend,
        export=export,
        keep_personal_data=keep_personal_data,
        limits=StoreLimits(
            conversations=max_conversations,
            spans=max_spans,
            size=int(max_size * (1 << 20)),
            room=int(room * (1 << 20)),
            keep_seconds=keep_hours * 3_600,
        ),
    )
    policies = [rules] if isinstance(rules, str | Path | Mapping) else list(rules)
    watch = ConversationWatch(policies, suite, options, config.project, environ=os.environ, say=say)
    watch.open()
    return watch
