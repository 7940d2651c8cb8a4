"""A policy that the tests of the guard share, and a desk to break it with."""

from __future__ import annotations

from pathlib import Path

DESK = """
carob: 1
tools: { writes: ["pay_*"] }
rules:
  - id: explicit-yes
    why: Ask before you pay, and wait for a yes.
    each: { call: "@writes" }
    needs: { last_user: ["@yes"] }
  - id: look-first
    why: Look an invoice up before you pay it.
    each: { call: pay_invoice, arguments: { id: { $as: id } } }
    needs: { before: { call: get_invoice, success: true, arguments: { id: { $same: id } } } }
  - id: paid-once
    each: { call: pay_invoice, success: true, arguments: { id: { $as: id } } }
    at_most: 1
"""
CALLS = """
carob: 1
rules:
  - id: look-first
    why: Look an invoice up before you pay it.
    each: { call: pay_invoice, arguments: { id: { $as: id } } }
    needs: { before: { call: get_invoice, success: true, arguments: { id: { $same: id } } } }
"""
BIG = """
carob: 1
rules:
  - { id: big, why: A person looks at large sums., mode: ask, each: { call: pay_invoice },
      where: { each.arguments.amount: { $lte: 100 } } }
"""


def write_policy(folder: Path, text: str = DESK, name: str = "policy.carob.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
