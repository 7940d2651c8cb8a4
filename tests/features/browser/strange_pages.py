"""Layouts that the target was not designed around, each with the answers that it gives one after the other."""

from __future__ import annotations

import json
from collections.abc import Sequence

CHAT = """<!doctype html><meta charset="utf-8"><title>t</title><style>.bot { white-space: pre-wrap }</style>
%(before)s<div id="main"><div id="log"></div>
<form id="form"><input id="in" aria-label="Message"><button id="go">Go</button></form></div>%(after)s
<script>
const later = () => new Promise((done) => setTimeout(done, 60));
const put = (place, name, text, tag = "p") => {
  const made = document.createElement(tag);
  made.className = name;
  made.textContent = text;
  place.append(made);
  return made;
};
const all = [], answers = %(answers)s;
const stream = async (prompt, words, show) => {
  all.push(["me", prompt], ["bot", ""]);
  for (const word of words.split(/(?<=\\s)/)) {
    await later();
    all.at(-1)[1] += word;
    show(all.at(-1)[1]);
  }
};
const redraw = (few) => {
  log.replaceChildren();
  for (const [who, text] of few) put(log, who, text);
};
form.onsubmit = async (event) => {
  event.preventDefault();
  const prompt = document.getElementById("in").value;
  form.reset();
  main.ariaBusy = "true";
  await answer(prompt, answers.shift());
  main.ariaBusy = "false";
};
%(script)s
</script>"""

PAGES = {
    "two panes": {
        "before": "<nav><p id=now>New talk</p><p id=other>Ops: quiet</p></nav>",
        "script": """const answer = async (p, words) => {
  now.textContent = "You: " + p;
  put(log, "me", p);
  await later();
  other.textContent = "Ops: all is cancelled";
  put(log, "bot", words);
  now.textContent = words.slice(0, 12) + "…";
};""",
    },
    "redrawn for each word": {"script": "const answer = (p, words) => stream(p, words, () => redraw(all));"},
    "a window over the list": {
        "script": """const answer = async (p, words) => {
  await stream(p, words, () => redraw(all.slice(-2)));
  if (!answers.length) redraw(all);
};"""
    },
    "places used again": {
        "script": """const slots = [put(log, "me", ""), put(log, "bot", "")];
const answer = (p, words) => stream(p, words, () => slots.forEach((slot, n) => slot.textContent = all.at(n - 2)[1]));"""
    },
    "a panel": {
        "script": """const panel = put(log, "bot", "", "div");
const answer = (p, words) => {
  panel.textContent = "";
  return stream(p, words, (text) => panel.textContent = text);
};"""
    },
    "a box": {
        "after": "<textarea class=bot id=box readonly></textarea>",
        "script": "const answer = (p, words) => stream(p, words, (text) => box.value = text);",
    },
    "the prompt in the answer": {
        "script": """const answer = async (p, words) => {
  put(log, "me", p);
  await later();
  put(log, "bot", `You asked: ${p} ${words}`);
};"""
    },
}


def page(name: str, answers: Sequence[str]) -> str:
    return CHAT % {"before": "", "after": "", **PAGES[name], "answers": json.dumps(answers)}
