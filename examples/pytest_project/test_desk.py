"""Python tests of the same agent, next to its suite."""

import desk_agent
import pytest

import carob


@pytest.mark.asyncio
async def test_customer_gives_the_order_later(carob_agent):
    turn = await carob_agent.ask("I want a refund.")
    carob.check(turn, outcome="needs_input", tool_calls_none=["issue_refund"])
    turn = await carob_agent.ask("It is A-17.")
    carob.check(turn, tool_calls=[{"tool": "issue_refund", "arguments": {"order": "A-17", "amount": 40}}])


@pytest.mark.parametrize("order", sorted(desk_agent.ORDERS))
def test_no_refund_over_the_limit(carob_agent, order):
    turn = carob_agent.ask_sync(f"A refund for {order}, please.")
    refunds = [call for call in turn.tool_calls if call.name == "issue_refund"]
    assert all(call.arguments["amount"] <= desk_agent.LIMIT for call in refunds)


def test_whole_suite_on_a_stub():
    """A suite that is green whatever the agent does proves nothing: this one is red for an agent that always agrees."""
    result = carob.run("desk.carob.yaml", lambda prompt: "I have refunded it.", tags=["money"])
    assert not result
