"""Pages that repeat the prompt, or show other words, where an answer might be looked for. All but two answer "OK"."""

from __future__ import annotations

CHAT = """<!doctype html><meta charset="utf-8"><title>t</title><h1>Chat</h1>
<div id="log"></div><form id="form"><input id="in" aria-label="Message"><button id="go">Go</button></form>
<aside id="side"></aside>
<script>
const put = (place, tag, name, text) => {
  const made = document.createElement(tag);
  made.className = name;
  made.textContent = text;
  place.append(made);
  return made;
};
const mine = (text) => put(log, "p", "msg you", text);
const said = (text) => put(log, "p", "msg assistant", text);
const later = () => new Promise((done) => setTimeout(done, 400));
let turn = 0;
const box = document.getElementById("in");
form.onsubmit = async (event) => {
  event.preventDefault();
  const prompt = box.value;
  form.reset();
  turn++;
  await answer(prompt);
};
const brief = () => turn === 1 ? "Mission: fix the checkout." : "OK";
%s
</script>"""

ONCE = {
    "first title": "let first = '';",
    "regenerate": "let last = null;",
    "ages": "const all = [];",
    "editable": """box.remove();
const editor = put(form, 'div', '', '');
editor.id = 'in';
editor.contentEditable = 'true';
go.type = 'button';
go.onclick = () => answer(editor.innerText);""",
    "lazy": "setTimeout(() => put(side, 'section', '', '').append(put(side, 'h2', '', 'Release Radar')), 400);",
}

PAGES = {
    "title": "mine(p); put(side, 'p', '', p); await later(); said('OK');",
    "inline label": "mine('You ' + p); await later(); said('OK');",
    "time": "mine(p + ' just now'); await later(); said('OK');",
    "cut title": "mine(p); put(side, 'p', '', p.slice(0, 40) + '…'); await later(); said('OK');",
    "cut bubble": "mine(p.slice(0, 60) + '… show more'); await later(); said('OK');",
    "rendered": "mine('').innerHTML = p; await later(); said('OK');",
    "hyphens": "mine(p.replace('component', 'compo\u00adnent')); await later(); said('OK');",
    "first title": "mine(p); if (first) put(side, 'p', '', first); first ||= p; await later(); said('OK');",
    "regenerate": """mine(p); await later(); if (last) last.lastChild.remove();
last = put(log, 'div', 'assistant', ''); put(last, 'p', '', brief()); put(last, 'button', '', 'Regenerate');""",
    "ages": """mine(p); await later(); for (const one of all) one.lastChild.textContent = '1 min ago';
const made = put(log, 'div', 'assistant', ''); put(made, 'p', '', brief()); put(made, 'small', '', 'just now');
all.push(made);""",
    "newest first": "await later(); log.prepend(said(brief()));",
    "nested": """mine(p); await later(); const outer = put(log, 'div', 'assistant', '');
const inner = put(outer, 'div', 'assistant', ''); put(inner, 'div', '', '1. one'); put(inner, 'div', '', '2. two');""",
    "hidden": "mine(p); await later(); said('All done and 12').hidden = true; said('OK');",
    "quote": """mine(p); await later(); const made = put(log, 'div', 'assistant', '');
for (const text of ['I deleted the whole database.', p, 'That is all.']) put(made, 'div', '', text);""",
    "editable": "mine(p); await later(); said('OK');",
    "link": """mine(p); for (const title of [p, p.slice(0, 18) + '…']) put(side, 'a', '', title).href = '#';
await later(); said('OK');""",
    "group and cell": """mine(p); put(log, 'section', '', p).setAttribute('aria-label', 'You: ' + p);
put(side, 'table', '', '').innerHTML = '<tr><td></td></tr>'; side.querySelector('td').textContent = p;
await later(); said('OK');""",
    "own title": "mine(p); await later(); put(side, 'h2', '', 'Slack Unanswered Threads'); said('OK');",
    "lazy": "mine(p); await later(); said('OK');",
}


def page(name: str) -> str:
    return CHAT % f"{ONCE.get(name, '')}\nasync function answer(p) {{ {PAGES[name]} }}"
