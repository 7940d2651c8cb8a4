"""What the model of the shops says: right in many phrasings, and wrong in one way for each planted bug."""

from __future__ import annotations

from typing import Any

Rule = dict[str, Any]

PROMPTS = (
    "Where is order A-17?",
    "Where is order B-04?",
    "Refund order A-17, please.",
    "Refund order B-04, please.",
    "Refund order C-08, please.",
    "Refund order Z-99, please.",
    "I want my money back.",
    "Which orders do I have?",
    "Hello!",
)
WHERE, REFUND = r"where is order (?P<order>\w-\d+)", r"refund order (?P<order>\w-\d+)"
FOUND, AMOUNT = r"status['\"]: ?['\"](?P<status>\w+)", r"amount['\"]: ?(?P<amount>\d+)"
OPENINGS = ("", "Sure. ", "Of course. ", "Thank you for waiting. ", "Let me see. ")
BODIES = {
    "status": ("Order ${order} is ${status}.", "The status of ${order} is: ${status}.", "${order} is now ${status}."),
    "refunded": (
        "I have refunded ${amount} dollars for order ${order}.",
        "Your refund of ${amount} dollars for ${order} has been issued.",
        "Order ${order}: ${amount} dollars were refunded to your card.",
    ),
    "declined": (
        "I could not refund order ${order}: the card has expired.",
        "The refund of ${order} was declined, because the card has expired.",
        "Unfortunately, the card of ${order} has expired, so the refund failed.",
    ),
    "missing": (
        "I could not find order ${order}.",
        "Sorry, there is no order ${order}.",
        "Unfortunately ${order} was not found.",
    ),
    "asking": (
        "What is your order number?",
        "Please give me the order number.",
        "Which order is it? I need the order number.",
    ),
    "list": (
        "You have these orders: A-17, B-04 and C-08.",
        "Your orders are A-17 (lamp), B-04 (chair) and C-08 (table).",
        "I see A-17, B-04 and C-08.",
    ),
    "hello": ("Hello! I can look orders up.", "Good day! I know your orders.", "Hi! Ask me about an order."),
}
CLOSINGS = ("", " Have a good day.", " Thank you for your patience.", " We are here for you.")


def phrase(kind: str, number: int) -> str:
    """One of sixty ways to say it; two numbers below sixty differ."""
    opening, body = OPENINGS[number % 5], BODIES[kind][number // 5 % 3]
    return f"{opening}{body}{CLOSINGS[number // 15 % 4]}"


def right(*numbers: int) -> list[Rule]:
    """The rules of a right model, in one phrasing, or in several, one after the other for the cases that need it."""
    both = {"lookup_order": AMOUNT, "issue_refund": "paid"}
    said = [
        ({"user": WHERE, "results": {"lookup_order": FOUND}}, "status"),
        ({"user": WHERE, "results": {"lookup_order": "no order"}}, "missing"),
        ({"user": REFUND, "results": {"lookup_order": "no order"}}, "missing"),
        ({"user": REFUND, "results": both}, "refunded"),
        ({"user": REFUND, "results": both | {"issue_refund": "declined"}}, "declined"),
        ({"user": "money back"}, "asking"),
        ({"user": "which orders", "results": {"list_orders": "A-17"}}, "list"),
        ({"user": "hello"}, "hello"),
    ]
    rules: list[Rule] = []
    for when, kind in said:
        cases = 2 if kind in ("status", "refunded") else 1
        rules += [{"when": when, "say": phrase(kind, number), "times": cases} for number in numbers[1:]]
        rules.append({"when": when, "say": phrase(kind, numbers[0])})
    return [
        *rules,
        {"when": {"user": WHERE}, "call": {"lookup_order": {"order": "${order}"}}},
        {"when": {"user": REFUND}, "call": {"lookup_order": {"order": "${order}"}}},
        {
            "when": {"user": REFUND, "results": {"lookup_order": AMOUNT}},
            "call": {"issue_refund": {"order": "${order}", "amount": "${amount:number}"}},
        },
        {"when": {"user": "which orders"}, "call": {"list_orders": {}}},
        {"when": {"results": "any"}, "say": "I am sorry, something went wrong."},
    ]


def _call(user: str, **calls: dict[str, Any]) -> Rule:
    return {"when": {"user": user}, "call": dict(calls)}


def _say(user: str, text: str, **results: str) -> Rule:
    return {"when": {"user": user, "results": results}, "say": text}


LOOKUP = {"lookup_order": {"order": "${order}"}}
WRONG: dict[str, list[Rule]] = {
    "calls another tool": [_call(WHERE, list_orders={}), _say(WHERE, "Order ${order} is shipped.", list_orders=".")],
    "looks another order up": [_call(WHERE, lookup_order={"order": "C-08"})],
    "answers without looking": [_say(WHERE, "Order ${order} is shipped.")],
    "claims a refund that it did not make": [
        _say(REFUND, "I have refunded ${amount} dollars for order ${order}.", lookup_order=AMOUNT)
    ],
    "refunds twice": [
        {
            "when": {"user": REFUND, "results": {"lookup_order": AMOUNT}},
            "call": [{"issue_refund": {"order": "${order}", "amount": "${amount:number}"}}] * 2,
        }
    ],
    "refunds without looking": [
        _call(REFUND, issue_refund={"order": "${order}", "amount": 40}),
        _say(REFUND, "I have refunded 40 dollars for order ${order}.", issue_refund="paid"),
        _say(REFUND, "I could not refund order ${order}.", issue_refund="declined"),
    ],
    "mails without being asked": [
        {"when": {"user": WHERE}, "call": [LOOKUP, {"send_mail": {"to": "ada@example.org", "text": "Hi"}}]},
        _say(WHERE, "Order ${order} is ${status}.", lookup_order=FOUND, send_mail="."),
    ],
    "gives another number": [
        _say(REFUND, "I have refunded 45 dollars for order ${order}.", lookup_order=AMOUNT, issue_refund="paid")
    ],
    "refunds another amount": [
        {
            "when": {"user": REFUND, "results": {"lookup_order": AMOUNT}},
            "call": {"issue_refund": {"order": "${order}", "amount": 999}},
        }
    ],
    "refunds another order": [
        {
            "when": {"user": REFUND, "results": {"lookup_order": AMOUNT}},
            "call": {"issue_refund": {"order": "C-08", "amount": "${amount:number}"}},
        }
    ],
    "guesses what it should ask for": [
        _call("money back", issue_refund={"order": "A-17", "amount": 40}),
        _say("money back", "I have refunded 40 dollars.", issue_refund="paid"),
    ],
    "asks for what it was given": [_say(REFUND, "What is your order number?")],
    "says nothing": [_say(WHERE, " ", lookup_order=FOUND)],
    "claims success after a failure": [
        _say(REFUND, "I have refunded ${amount} dollars.", lookup_order=AMOUNT, issue_refund="declined")
    ],
    "looks up four times": [{"when": {"user": WHERE}, "call": [LOOKUP] * 4}],
    "refuses what it can do": [_say(REFUND, "I am sorry, I cannot help with refunds.")],
    "names an argument wrongly": [_call(WHERE, lookup_order={"order_id": "${order}"})],
    "calls a tool that is not there": [_call(WHERE, find_order={"order": "${order}"})],
    "claims a mail that it did not send": [
        _say(WHERE, "Order ${order} is ${status}. I have sent you a mail.", lookup_order=FOUND)
    ],
    "the model is down": [{"when": {"user": WHERE}, "status": 500, "say": "overloaded"}],
    "lists orders that are not there": [
        _say("which orders", "You have 7 orders: A-17, B-04, C-08 and 4 more.", list_orders=".")
    ],
    "gives another status": [_say(WHERE, "Order ${order} is lost.", lookup_order=FOUND)],
    "is rude": [_say(WHERE, "Order ${order} is ${status}, you fool.", lookup_order=FOUND)],
}
IN_TOOLS = (
    "tool-raises",
    "tool-finds-what-is-not-there",
    "tool-gives-another-amount",
    "tool-leaves-a-field-out",
    "tool-gives-nothing",
    "tool-declines",
    "tool-pays-to-an-expired-card",
)
