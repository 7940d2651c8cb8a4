from collections.abc import Iterator

import pytest
from canvas_support import Conversation, RunningApp, fresh_workspace, running_app

from canvas_app.store.workspace import Workspace


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    made = fresh_workspace()
    yield made
    made.spaces.db.close()


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    """One app for a module; each test has a session, and so a state and telemetry, of its own."""
    with running_app(tmp_path_factory.mktemp("app")) as running:
        yield running


@pytest.fixture
def conversation(app: RunningApp) -> Conversation:
    return app.converse()
