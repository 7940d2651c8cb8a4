import sqlite3

from pydantic_ai_examples import bank_support as bank

bank.cur = sqlite3.connect(":memory:", check_same_thread=False).cursor()
bank.cur.executescript("CREATE TABLE customers(id, name, balance); INSERT INTO customers VALUES (123, 'John', 123.45)")


async def ask(prompt):
    deps = bank.SupportDependencies(123, bank.DatabaseConn(bank.cur.connection))
    run = await bank.support_agent.run(prompt, deps=deps)
    parts = [part for message in run.new_messages() for part in message.parts if part.part_kind == "tool-return"]
    calls = [{"name": part.tool_name, "result": part.content} for part in parts if part.tool_name != "final_result"]
    return {"final_message": run.output.support_advice, "state": run.output.model_dump(), "tool_calls": calls}
