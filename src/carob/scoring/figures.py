"""The figures of a run as every page, report and terminal gives them: one pass rate, one cost, one count of tokens."""

from __future__ import annotations

from carob.model.cost import Spent, TokenPrices
from carob.model.run import Summary
from carob.text.wording import count, dollars, percent, pluralize


def pass_share(summary: Summary) -> float | None:
    """The share of cases that passed. Skipped cases and known failures do not count; errors are not passes."""
    return summary.passed / summary.judged if summary.judged else None


def pass_percent(summary: Summary) -> str:
    """`80.0%`, or a dash where no case counts."""
    share = pass_share(summary)
    return "–" if share is None else percent(share)


def pass_words(summary: Summary) -> str:
    """`80.0%, 12 of 15 cases passed`."""
    return f"{pass_percent(summary)}, {summary.passed} of {pluralize(summary.judged, 'case')} passed"


def interval_words(summary: Summary) -> str:
    """`95% Korn-Graubard interval 54.8% to 93.0%, 7 clusters`; nothing where a rate is of one case or none."""
    if summary.judged < 2:
        return ""
    clusters = f", {pluralize(summary.clusters, 'cluster')}" if summary.clusters < summary.judged else ""
    return f"95% {summary.rate_method} interval {percent(summary.rate_low)} to {percent(summary.rate_high)}{clusters}"


def rate_words(summary: Summary) -> str:
    """`80.0%, 12 of 15 cases passed (95% Clopper-Pearson interval 54.8% to 93.0%)`."""
    interval = interval_words(summary)
    return pass_words(summary) + (f" ({interval})" if interval else "")


def token_words(spent: Spent) -> str:
    """`12.3k in, 950 out`; nothing if no run says."""
    return f"{count(spent.input)} in, {count(spent.output)} out" if spent.counted else ""


def cost_words(spent: Spent, prices: TokenPrices | None) -> str:
    """`$0.0123`, and of how many runs if not of all; nothing if it is not known."""
    cost = spent.cost_usd(prices)
    if cost is None:
        return ""
    unknown = spent.count_unknown(prices)
    return dollars(cost) + (f" for {spent.runs - unknown} of {pluralize(spent.runs, 'run')}" if unknown else "")


def run_words(summary: Summary, prices: TokenPrices | None) -> str:
    """All figures of a run in one line."""
    tokens = token_words(summary.spent)
    parts = (rate_words(summary), f"tokens {tokens}" if tokens else "", cost_words(summary.spent, prices))
    return "; ".join(filter(None, parts))
