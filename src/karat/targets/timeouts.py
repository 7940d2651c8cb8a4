"""How long is waited for what may never come, also while a case is being cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


@asynccontextmanager
async def timeout(seconds: float | None) -> AsyncIterator[None]:
    """Raise TimeoutError after so long, which `asyncio.timeout` does not in a cancelled task before Python 3.11.3."""
    try:
        async with asyncio.timeout(seconds) as limit:
            yield
    except asyncio.CancelledError as error:
        if not limit.expired():
            raise
        raise TimeoutError from error
