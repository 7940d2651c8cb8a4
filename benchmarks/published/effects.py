"""The tools of tau-bench that change its database, with the words that claim it, as an author would declare them.

`@effects` holds words that claim any of them. Tools that only read, calculate or hand over are not effects.
"""

from __future__ import annotations

Effects = dict[str, list[str]]

AIRLINE: Effects = {
    "book_reservation": [
        "booked",
        "rebooked",
        "reserved",
        "booking is confirmed",
        "booking has been confirmed",
        "reservation is confirmed",
        "reservation has been confirmed",
        "reservation has been made",
        "reservation has been created",
    ],
    "cancel_reservation": [
        "cancelled",
        "canceled",
        "cancellation is complete",
        "refunded",
        "refund has been initiated",
    ],
    "send_certificate": ["sent", "issued", "compensated", "certificate has been added"],
    "update_reservation_baggages": ["added", "updated", "baggage has been updated", "bags have been added"],
    "update_reservation_flights": [
        "changed",
        "updated",
        "modified",
        "upgraded",
        "downgraded",
        "rebooked",
        "now booked on",
        "rescheduled",
        "switched",
        "moved",
        "refunded",
    ],
    "update_reservation_passengers": ["changed", "updated", "modified", "corrected", "replaced"],
    "@effects": ["completed", "processed", "finalized", "all set"],
}

RETAIL: Effects = {
    "cancel_pending_order": ["cancelled", "canceled", "refunded", "credited", "cancellation is complete"],
    "exchange_delivered_order_items": ["exchanged", "requested", "initiated", "submitted", "exchange is confirmed"],
    "modify_pending_order_address": ["changed", "updated", "modified", "corrected"],
    "modify_pending_order_items": [
        *("changed", "updated", "modified", "swapped", "replaced", "switched"),
        *("refunded", "credited"),
    ],
    "modify_pending_order_payment": ["changed", "updated", "modified", "switched", "refunded", "credited"],
    "modify_user_address": ["changed", "updated", "modified", "corrected"],
    "return_delivered_order_items": ["returned", "requested", "initiated", "submitted", "return is confirmed"],
    "@effects": ["completed", "processed", "finalized", "all set"],
}

DOMAINS = {"airline": AIRLINE, "retail": RETAIL}


def write_tools(domain: str) -> list[str]:
    return [name for name in DOMAINS[domain] if not name.startswith("@")]
