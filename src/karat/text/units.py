"""Numbers as people read them: shares, money, counts, time. One place, so that one figure reads the same everywhere."""

from __future__ import annotations


def percent(share: float) -> str:
    """A share to a tenth of a percent: nothing but all is 100%, nothing but none is 0%."""
    if share in (0, 1):
        return f"{share:.0%}"
    return f"{min(max(share * 100, 0.1), 99.9):.1f}%"


def dollars(amount: float) -> str:
    """`$12.30`, `$0.0123`, `under $0.0001`."""
    if amount >= 1:
        return f"${amount:,.2f}"
    return f"${amount:.4f}" if amount >= 0.0001 or not amount else "under $0.0001"


def count(number: int) -> str:
    """`950`, `12.3k`, `4.56M`."""
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return str(number)


def points(value: float) -> str:
    """A difference of shares in points, with its sign: `+5`, `-14.3`, `0`."""
    text = f"{value * 100:+.1f}".removesuffix(".0")
    return "0" if text in ("+0", "-0") else text


def describe_move(value: float, low: float, high: float) -> str:
    """How a share moved: `fell by 14.3 points (true change: -46.7 to +15.3)`."""
    change = f"(true change: {points(low)} to {points(high)})"
    if not value:
        return f"stayed the same {change}"
    size = points(abs(value)).removeprefix("+")
    return f"{'rose' if value > 0 else 'fell'} by {size} point{'s' * (size != '1')} {change}"
