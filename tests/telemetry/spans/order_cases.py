"""Cases for the agents whose spans were recorded, and what their spans decide."""

SUITE = {
    "version": "0.3",
    "cases": [
        {
            "id": "where",
            "prompt": "Where is A-17?",
            "expected": {
                "outcome": "tool_success",
                "tool_calls": [{"tool": "lookup_order", "arguments": {"order": "A-17"}, "success": True}],
                "tool_calls_none": ["cancel_order"],
                "must_say_any": ["shipped"],
            },
        },
        {
            "id": "wrong-arguments",
            "prompt": "Where is A-17?",
            "expected": {"tool_calls": [{"tool": "lookup_order", "arguments": {"order": "A-18"}}]},
        },
        {
            "id": "forbidden",
            "prompt": "Where is A-17?",
            "expected": {"tool_calls_none": ["lookup_order"]},
        },
        {
            "id": "cancel",
            "prompt": "Cancel B-04.",
            "expected": {
                "tool_calls": [
                    {"tool": "cancel_order", "arguments": {"order": "B-04", "reason": "late"}, "success": False}
                ]
            },
        },
        {
            "id": "list",
            "prompt": "List them, please",
            "expected": {"tool_calls": [{"tool": "list_orders", "success": True}], "must_say_any": ["two orders"]},
        },
        {
            "id": "hello",
            "prompt": "Hello there",
            "expected": {"tool_calls_none": ["lookup_order"], "must_not_say": ["shipped"]},
        },
        {
            "id": "two-turns",
            "setup_prompts": ["Where is A-17?"],
            "prompt": "List them, please",
            "expected": {"tool_calls": [{"tool": "list_orders"}], "tool_calls_none": ["lookup_order"]},
        },
        {"id": "crash", "prompt": "crash", "expected": {"tool_calls_none": ["lookup_order"]}},
    ],
}
VERDICTS = {
    "where": "PASS",
    "wrong-arguments": "FAIL",
    "forbidden": "FAIL",
    "cancel": "PASS",
    "list": "PASS",
    "hello": "PASS",
    "two-turns": "PASS",
}
