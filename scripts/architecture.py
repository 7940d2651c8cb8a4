"""`python scripts/architecture.py`: draws the core and the features from the contracts and the catalog.

It writes docs/images/architecture.svg, and the tables between the marks of ARCHITECTURE.md.
"""

from __future__ import annotations

import re
import tomllib
from html import escape
from pathlib import Path
from typing import Any

from carob.plugins.features import Feature, own_features

ROOT = Path(__file__).parents[1]
PAGE, PICTURE = ROOT / "ARCHITECTURE.md", ROOT / "docs/images/architecture.svg"
FLOW = ("suite file", "Case", "target", "Trace", "checks", "status", "journal", "reports")
WIDTH, LEFT, ROW, COLUMNS = 920, 16, 26, 4
STYLE = """<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2430 }
  .flow, .head { font-weight: 600 } .name { font: 600 12px ui-monospace, monospace }
  .what { font-size: 11px; fill: #4d5566 }
  .box { fill: #f4f6fa; stroke: #b8c0d0 } .core { fill: #fbf6ea; stroke: #c9b37a }
  .arrow { fill: none; stroke: #4d5566; stroke-width: 1.5 } .back { fill: #ffffff }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6e9f0 } .what { fill: #aab2c2 } .box { fill: #232836; stroke: #4a5268 }
    .core { fill: #2b2920; stroke: #6d6346 } .arrow { stroke: #aab2c2 } .back { fill: #161a23 }
  }
</style>"""


def contracts() -> list[dict[str, Any]]:
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    found: list[dict[str, Any]] = linter["contracts"]
    return found


def floors() -> list[str]:
    """The levels of imports, the topmost first."""
    return next(contract["layers"] for contract in contracts() if contract["type"] == "layers")


def used_features() -> dict[str, list[str]]:
    """By the name of a feature, those that it may import."""
    used: dict[str, list[str]] = {}
    allowed = next(contract for contract in contracts() if contract["type"] == "independence")["ignore_imports"]
    for line in allowed:
        one, other = re.findall(r"carob\.features\.(\w+)", line)
        used.setdefault(one, []).append(other)
    return used


def tables() -> str:
    used = used_features()
    rows = [f"| `{f.name}` | {f.summary} | {', '.join(used.get(f.name, []))} |" for f in own_features()]
    levels = [level.replace(" | ", " · ") for level in floors()]
    return "\n".join(["| feature | what it does | uses |", "|---|---|---|", *rows, "", "```", *levels, "```"])


def page(text: str) -> str:
    """ARCHITECTURE.md with its tables as they are now."""
    return re.sub(r"(?s)(<!-- generated -->\n).*?(<!-- end -->)", lambda m: f"{m[1]}\n{tables()}\n\n{m[2]}", text)


def picture() -> str:
    features, levels = own_features(), floors()[1:]
    lines = [*_flow(), *_features(features)]
    top = 88 + (len(features) + COLUMNS - 1) // COLUMNS * 46 + 20
    lines.append(f'<path class="arrow" d="M{WIDTH // 2} {top - 12}v20m-5 -5l5 5l5 -5"/>')
    says = "features import the core; it knows only their names"
    lines.append(f'<text class="what" x="{WIDTH // 2 + 14}" y="{top + 4}">{says}</text>')
    lines.append(f'<text class="head" x="{LEFT}" y="{top + 12}">the core</text>')
    top += 22
    for number, level in enumerate(levels):
        y = top + number * ROW
        lines.append(f'<rect class="core" x="{LEFT}" y="{y}" width="{WIDTH - 2 * LEFT}" height="{ROW - 4}" rx="5"/>')
        names = level.replace(" | ", "  ·  ")
        lines.append(f'<text class="name" x="{WIDTH // 2}" y="{y + 15}" text-anchor="middle">{escape(names)}</text>')
    height = top + len(levels) * ROW + 10
    title = "The features of Carob above its core; imports only point down. Above, the way of the data."
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="title">'
    back = f'<rect class="back" width="{WIDTH}" height="{height}" rx="8"/>'
    return "\n".join([head, f'<title id="title">{title}</title>', STYLE, back, *lines, "</svg>", ""])


def _flow() -> list[str]:
    step = (WIDTH - 2 * LEFT) / len(FLOW)
    lines = []
    for number, word in enumerate(FLOW):
        x = round(LEFT + step * (number + 0.5))
        lines.append(f'<text class="flow" x="{x}" y="34" text-anchor="middle">{word}</text>')
        if number:
            lines.append(f'<path class="arrow" d="M{round(LEFT + step * number) - 7} 29h14m-5 -4l5 4l-5 4"/>')
    return lines


def _features(features: tuple[Feature, ...]) -> list[str]:
    lines = [f'<text class="head" x="{LEFT}" y="74">features</text>']
    wide = (WIDTH - 2 * LEFT) / COLUMNS
    for number, feature in enumerate(features):
        x, y = round(LEFT + wide * (number % COLUMNS)), 84 + number // COLUMNS * 46
        lines.append(f'<rect class="box" x="{x}" y="{y}" width="{round(wide) - 8}" height="40" rx="5"/>')
        lines.append(f'<text class="name" x="{x + 8}" y="{y + 16}">{escape(feature.name)}</text>')
        what = feature.summary if len(feature.summary) < 33 else feature.summary[:31].rsplit(" ", 1)[0] + " …"
        lines.append(f'<text class="what" x="{x + 8}" y="{y + 32}">{escape(what)}</text>')
    return lines


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
    PICTURE.write_text(picture())
