"""Run by the Python that has invariant-ai: for each conversation of the standard input, whether it breaks each rule."""

import json
import sys

from invariant.analyzer import LocalPolicy

POLICY = """
raise "pay-after-receipt" if:
    (a: ToolCall) -> (b: ToolCall)
    a is tool:receipt
    b is tool:pay
    a.function.arguments.id == b.function.arguments.id
raise "anything-after-transfer" if:
    (a: ToolCall) -> (b: ToolCall)
    a is tool:transfer
raise "too-much" if:
    (a: ToolCall)
    a is tool:pay
    a.function.arguments.amount > 100
raise "never-delete" if:
    (a: ToolCall)
    a is tool:delete
raise "find-before-cancel" if:
    (a: ToolCall) -> (b: ToolCall)
    a is tool:find
    b is tool:cancel
"""
policies = {
    rule.split('"')[1]: LocalPolicy.from_string(f"raise {rule}") for rule in POLICY.split("raise ") if rule.strip()
}
for line in sys.stdin:
    messages, broken = json.loads(line), {}
    for name, policy in policies.items():
        try:
            broken[name] = bool(policy.analyze(messages).errors)
        except RuntimeError as error:
            if "Maximum checking cycles" not in str(error):
                raise
            broken[name] = None  # it gave up
    print(json.dumps(broken))
