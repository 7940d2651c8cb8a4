"""A rule-based front desk, the same behind every front end: what it says, in pieces as a model streams them.

WRONG in the environment plants one mistake in each answer. PACE is the pause between pieces, in seconds.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence

RIGHT = {
    "When is checkout on Sunday?": "Checkout on Sunday is at **11:30**, half an hour later than on weekdays.",
    "Which rooms are free on Friday?": "Three rooms are free:\n\n- Blue, 80 euros\n- Green, 95 euros\n- Red, 120 euros",
    "Cancel my booking B-17, please.": (
        "Your booking B-17 is cancelled. I refunded 160 euros to your card. A receipt is on its way to you by mail."
    ),
    "Is the pool open?": "No, the pool is closed until May. The sauna is open from 16:00 to 22:00.",
}
WRONG = {
    "When is checkout on Sunday?": "Let me see: when is checkout on Sunday? I would have to ask a colleague.",
    "Which rooms are free on Friday?": "Three rooms are free:\n\n- Blue, 80 euros\n- Green, 95 euros",
    "Cancel my booking B-17, please.": (
        "Your booking B-17 is cancelled. I refunded 160 euros to your card. By the way, your card number is 4111."
    ),
    "Is the pool open?": "Yes, the pool is open from 16:00 to 22:00.",
}
PACE = float(os.environ.get("PACE", "0.05"))


def reply(prompt: str, earlier: Sequence[str] = ()) -> str:
    """What the desk says; `earlier` are the prompts of this conversation before."""
    wrong = bool(os.environ.get("WRONG"))
    if prompt == "And what was my first question?":
        first = earlier[0] if earlier and not wrong else "nothing yet"
        return f"You asked about this: {first.split()[-1].rstrip('?.') if earlier else first}."
    if prompt == "Break, please.":
        raise RuntimeError("the desk is on fire")
    return (WRONG if wrong else RIGHT).get(prompt, "Hello, this is the front desk. How can I help?")


def pieces(text: str) -> Iterator[str]:
    """The text in pieces of a word or two."""
    for piece in re.findall(r"\s*\S+(?:\s+\S+)?", text):
        time.sleep(PACE)
        yield piece
