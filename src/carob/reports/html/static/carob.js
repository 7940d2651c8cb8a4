"use strict";
// One script for the report and the viewer. Without it everything can still be read; it filters, lights and moves.
const inflate = (id) => {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
};
(() => {
  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const local = document.body.hasAttribute("data-local");
  const PAGE = local ? 60 : 100;
  const form = one("form[role=search]");
  const body = one("table.cases tbody");
  const found = one(".found");
  const more = one(".more button");

  // Evidence: a check lights its words, its call, its line, its place on the screenshot; a click goes there.
  const evidence = (check) => all(`[data-c~="${check.dataset.check}"]`, check.closest(".case"));
  // A light is brought into the frame of its screenshot; the page stays where it is.
  const bring = (lit) => {
    const frame = lit?.closest(".frame");
    if (!frame) return;
    const [at, box] = [lit.getBoundingClientRect(), frame.getBoundingClientRect()];
    if (at.top < box.top || at.bottom > box.bottom) frame.scrollTop += at.top - box.top - (box.height - at.height) / 2;
  };
  const light = (check, on) => {
    const places = evidence(check);
    places.forEach((place) => place.classList.toggle("lit", on));
    if (on) bring(places.find((place) => place.matches(".light")));
    const target = one(".name[href]", check);
    const place = target && document.getElementById(target.hash.slice(1));
    if (place && place.classList.contains("answer")) place.classList.toggle("lit", on);
  };
  const unlight = () => {
    all(".lit").forEach((place) => place.classList.remove("lit"));
    all(".check.on").forEach((check) => check.classList.remove("on"));
  };
  // Opens the tab that it is in, and what is folded around it.
  const unfold = (place) => {
    for (let up = place; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
    const panel = place.closest(".panel");
    const tab = panel && one(`.tab input[value="${panel.classList[1]}"]`, panel.parentElement);
    if (tab && !tab.checked) tab.click();
  };
  const reveal = (place) => {
    unfold(place);
    place.scrollIntoView({ block: place.matches(".panel") ? "start" : "center" });
  };
  const show = (check, { move = true } = {}) => {
    unlight();
    check.classList.add("on");
    unfold(check);
    light(check, true);
    if (!move) return;
    const link = one(".name[href]", check);
    const places = evidence(check);
    const plain = places.find((one) => !one.matches(".light, .block > pre *"));  // rather the picture than its snapshot
    const place = plain || places.find((one) => one.matches(".light")) || places[0] || (link && document.getElementById(link.hash.slice(1)));
    if (place) reveal(place);
    check.focus({ preventScroll: true });
  };
  for (const [event, on] of [["mouseover", true], ["mouseout", false], ["focusin", true], ["focusout", false]]) {
    document.addEventListener(event, (happened) => {
      const check = happened.target.closest && happened.target.closest("[data-check].check");
      if (check && !check.classList.contains("on")) light(check, on);
    });
  }
  document.addEventListener("click", (event) => {
    const name = event.target.closest("a.name");
    if (name) {
      event.preventDefault();
      const check = name.closest(".check");
      history.replaceState(history.state, "", `#${check.id}`);
      show(check);
      return;
    }
    const marked = event.target.closest("mark[data-c], .call[data-c] .tool, .lines [data-c], .light");
    if (marked && !getSelection().toString()) {
      const number = marked.closest("[data-c]").dataset.c.split(" ")[0];
      const check = one(`[data-check="${number}"].check`, marked.closest(".case"));
      if (check) { show(check, { move: false }); check.scrollIntoView({ block: "nearest" }); }
    }
    const here = event.target.closest(".case a[href^='#']");
    if (here && here.hash === location.hash) arrive(here.hash.slice(1));  // nothing changes, so nothing else brings it up
    const copy = event.target.closest("button.copy");
    if (copy) copyText(copy);
  });
  const copyText = async (button) => {
    const code = one("code", button.parentElement);
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      const range = document.createRange();
      range.selectNodeContents(code);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = "Press Ctrl+C";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  };

  // Filtering. The report has every row; the viewer asks for those that are left.
  const chosen = () => Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));
  let rows = [];
  let left = [];
  let shown = 0;
  const describe = (count, total) => {
    found.textContent = count === total ? `${total} cases` : `${count} of ${total} cases`;
  };
  const extend = () => {
    const next = left.slice(shown, shown + PAGE);
    shown += next.length;
    body.append(...next.map((row) => row.element));
    more.hidden = shown >= left.length;
  };
  const filterHere = () => {
    const { text = "", status, category, tag, check, order } = chosen();
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    left = rows.filter((row) =>
      (!status || row.status === status) && (!category || row.category === category) &&
      (!tag || row.tags.includes(tag)) && (!check || row.checks.includes(check)) &&
      words.every((word) => row.text.includes(word)));
    if (order) left.sort(order === "suite" ? (a, b) => a.index - b.index : (a, b) => b.ms - a.ms || a.index - b.index);
    const first = left.slice(0, PAGE);
    if (first.length !== body.rows.length || first.some((row, at) => row.element !== body.rows[at])) {
      body.replaceChildren(...first.map((row) => row.element));
    }
    shown = first.length;
    more.hidden = shown >= left.length;
    describe(left.length, rows.length);
  };
  const readRows = () => {
    rows = all("tr", body).map((element) => ({
      element, index: Number(element.dataset.o.split(":")[0]), ms: Number(element.dataset.o.split(":")[1]), status: element.dataset.s, category: element.dataset.g, tags: element.dataset.t.split("\x1f"),
      checks: element.dataset.k.split(" "), text: element.textContent.toLowerCase(),
    }));
  };
  let asking = null;
  const ask = async (address) => {
    asking?.abort();
    asking = new AbortController();
    const answer = await fetch(address, { signal: asking.signal, headers: { "X-Carob": "part" } });
    return answer.ok ? answer : null;
  };
  const filterThere = async (start = 0) => {
    const query = new URLSearchParams(chosen());
    if (start === 0) history.replaceState(history.state, "", query.size ? `?${query}` : location.pathname);
    query.set("part", "rows");
    query.set("start", start);
    try {
      const answer = await ask(`${location.pathname}?${query}`);
      if (!answer) return;
      const html = await answer.text();
      if (start === 0) body.replaceChildren();
      body.insertAdjacentHTML("beforeend", html);
      const count = Number(answer.headers.get("X-Cases"));
      describe(count, Number(answer.headers.get("X-Total")));
      more.hidden = body.rows.length >= count;
    } catch (error) {
      if (error.name !== "AbortError") found.textContent = "The viewer does not respond. Is carob view still running?";
    }
  };
  const filter = () => (local ? filterHere() : filterThere());
  if (form && body) {
    if (local) { readRows(); filterHere(); body.classList.add("ready"); } else { describe(Number(form.dataset.count), Number(form.dataset.total)); more.hidden = body.rows.length >= Number(form.dataset.count); }
    form.addEventListener("input", (event) => { if (event.target.name === "check") form.kind.value = ""; filter(); });
    form.addEventListener("submit", (event) => { event.preventDefault(); filter(); });
    form.addEventListener("reset", (event) => {
      event.preventDefault();
      for (const field of form.elements) if ("value" in field) field.value = "";
      filter();
    });
    more.addEventListener("click", () => (local ? extend() : filterThere(body.rows.length)));
    document.addEventListener("click", (event) => {
      const group = event.target.closest("a.group, a.all-of-group");
      const count = event.target.closest("a.count");
      if (!group && !count) return;
      event.preventDefault();
      for (const field of form.elements) if ("value" in field) field.value = "";
      const field = group ? form.check : form.status;
      if (field) field.value = group ? group.dataset.check : count.dataset.status;
      if (group && !local) form.kind.value = group.dataset.kind;
      filter();
      one("#cases").scrollIntoView();
    });
  }

  // Keyboard
  const help = one("dialog.help");
  let at = -1;
  const visibleRows = () => (body ? [...body.rows] : all("[data-row]"));
  const select = (step) => {
    const list = visibleRows();
    if (!list.length) return;
    list[at]?.classList.remove("here");
    at = Math.min(Math.max(at + step, 0), list.length - 1);
    list[at].classList.add("here");
    const link = one("a", list[at]);
    link.focus({ preventScroll: true });
    list[at].scrollIntoView({ block: "nearest" });
  };
  const openCase = () => one(".case.open") || (local ? null : one(".case"));
  const neighbour = (step) => {
    const link = one(step > 0 ? "a[rel=next]" : "a[rel=prev]", openCase());
    if (link) { link.click(); return; }
    if (!local || !rows.length) return;
    const index = left.findIndex((row) => one("th > a", row.element).hash === `#${openCase().id}`);
    const next = left[index + step];
    if (next) location.hash = one("th > a", next.element).hash;
  };
  const nextCheck = (step) => {
    const checks = all(".check", openCase());
    const index = checks.findIndex((check) => check.classList.contains("on"));
    const check = checks[Math.min(Math.max(index + step, 0), checks.length - 1)];
    if (check) show(check);
  };
  const up = () => {
    const link = one(".crumbs a", openCase() || document);
    if (link) link.click();
  };
  const KEYS = {
    "/": () => { if (form && !openCase()) { form.text.focus(); form.text.select(); } },
    "?": () => help?.showModal(),
    j: () => (openCase() ? neighbour(1) : select(1)),
    k: () => (openCase() ? neighbour(-1) : select(-1)),
    n: () => openCase() && nextCheck(1),
    p: () => openCase() && nextCheck(-1),
    u: up,
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help?.open) return;
    const typing = event.target.closest("input:not([type=radio]), select, textarea");
    if (typing && event.key === "Escape") { event.target.blur(); return; }
    if (typing || !KEYS[event.key]) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  one(".keys-hint")?.addEventListener("click", () => help?.showModal());

  // Cases within the report: those that are packed are unpacked when they are asked for.
  const unpacked = new Map();
  const putIn = async (number) => {
    if (!document.getElementById(`pack${number}`)) return;
    const template = document.createElement("template");
    template.innerHTML = await inflate(`pack${number}`);
    one("main").append(template.content);
  };
  const unpack = (number) => {
    if (!unpacked.has(number)) unpacked.set(number, putIn(number));
    return unpacked.get(number);
  };
  const asked = () => decodeURIComponent(location.hash.slice(1));
  let place = 0;
  const route = async () => {
    const id = asked();
    const caseId = /^c\d+r\d+/.exec(id)?.[0];
    if (!one(".case.open")) place = scrollY;
    if (caseId && !document.getElementById(caseId)) {
      const row = rows.find((row) => one("th", row.element).innerHTML.includes(`#${caseId}"`));
      for (const number of row?.element.dataset.p?.split(" ") ?? []) await unpack(number);
      if (asked() !== id) return;  // another one is wanted by now
    }
    const was = one(".case.open");
    const wanted = caseId && document.getElementById(caseId);
    was?.classList.remove("open");
    document.body.classList.toggle("in-case", Boolean(wanted));
    if (!wanted) {
      if (was) { unlight(); scrollTo(0, place); }
      if (caseId && found) found.textContent = "This case did not fit into the file: see it with carob view.";
      return;
    }
    wanted.classList.add("open");
    scrollTo(0, 0);
    arrive(id);
  };
  // A link to a check leads to its evidence.
  const arrive = (id) => {
    const target = id ? document.getElementById(id) : null;
    if (target?.matches(".check")) show(target);
    else if (target && !target.matches(".case")) reveal(target);
  };
  addEventListener("hashchange", () => (local ? route() : arrive(asked())));
  if (local) route(); else arrive(asked());

  // A run that is still going on fills in.
  const head = one("[data-live]");
  const follow = async () => {
    const answer = await fetch(`${location.pathname}?part=live`, { headers: { "X-Carob": "part" } }).catch(() => null);
    if (answer?.ok && answer.headers.get("X-Version") !== head.dataset.version) {
      head.dataset.version = answer.headers.get("X-Version");
      head.innerHTML = await answer.text();
      const start = body.rows.length;
      if (start <= PAGE) await filterThere(0);
      if (answer.headers.get("X-Ended") === "1") return;
    }
    setTimeout(follow, 1000);
  };
  if (head && head.dataset.live === "1") setTimeout(follow, 1000);

  // Tables: those of runs are sorted by a click on a heading; one that goes on to the right says so.
  const sortBy = (heading) => {
    const table = heading.closest("table");
    const rises = heading.getAttribute("aria-sort") === "descending";
    all("[aria-sort]", table).forEach((other) => other.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", rises ? "ascending" : "descending");
    const value = (row) => { const text = row.dataset[heading.dataset.sort]; return Number.isNaN(Number(text)) ? text : Number(text); };
    const sorted = [...table.tBodies[0].rows].sort((a, b) => (value(a) < value(b) ? -1 : Number(value(a) > value(b))) * (rises ? 1 : -1));
    table.tBodies[0].append(...sorted);
  };
  for (const heading of all("table.sortable [data-sort]")) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "sorter", textContent: heading.textContent });
    heading.replaceChildren(button);
    button.addEventListener("click", () => sortBy(heading));
  }
  for (const wide of all(".scroll")) {
    const say = () => wide.toggleAttribute("data-more", wide.scrollLeft + wide.clientWidth < wide.scrollWidth - 2);
    wide.addEventListener("scroll", say);
    new ResizeObserver(say).observe(wide);
  }
  for (const choices of all("form.again-on-change")) choices.addEventListener("change", (event) => { if (event.target.tagName === "SELECT") choices.submit(); });
  for (const filter of all("[data-filter]")) {
    filter.addEventListener("input", () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of all(filter.dataset.filter)) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    });
    filter.form.addEventListener("submit", (event) => { if (document.activeElement === filter) event.preventDefault(); });
  }
})();
