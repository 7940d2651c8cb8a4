"""Says which agent the tests of this folder are about."""

import desk_agent
import pytest


@pytest.fixture(scope="session")
def carob_target():
    return desk_agent.reply
