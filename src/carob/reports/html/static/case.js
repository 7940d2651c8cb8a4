// The tabs of a case, and its raw record: fetched by the viewer, unpacked by the report, when it is first looked at.
(() => {
  const PIECE = 20_000;
  const MOST = 2_000;
  const records = new WeakMap();

  // In pieces of whole lines: a browser lays out those that are in sight.
  const fill = (box, text) => {
    const pieces = [];
    for (let from = 0; from < text.length;) {
      const end = text.length - from <= PIECE ? text.length : text.indexOf("\n", from + PIECE) + 1 || text.length;
      const piece = document.createElement("pre");
      piece.textContent = text.slice(from, end);
      pieces.push(piece);
      from = end;
    }
    box.replaceChildren(...pieces);
    return pieces;
  };
  const load = (box) => {
    if (!records.has(box)) {
      const at = box.dataset.record;
      box.textContent = "Reading…";
      const text = at.startsWith("#") ? inflate(at.slice(1)) : fetch(at).then((answer) => (answer.ok ? answer.text() : Promise.reject()));
      records.set(box, text.then((found) => fill(box, found)).catch(() => {
        box.textContent = "The record cannot be read.";
        records.delete(box);
        return [];
      }));
    }
    return records.get(box);
  };

  // Finding: every place is marked, and one after the other is brought into sight.
  const find = (pieces, words) => {
    const pattern = new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "gi");
    const found = [];
    for (const piece of pieces) {
      for (const match of piece.textContent.matchAll(pattern)) {
        const range = new Range();
        range.setStart(piece.firstChild, match.index);
        range.setEnd(piece.firstChild, match.index + match[0].length);
        if (found.push(range) === MOST) return found;
      }
    }
    return found;
  };
  const mark = (name, ranges) => { if (window.Highlight) CSS.highlights.set(name, new Highlight(...ranges)); };
  const go = (box, range) => {
    range.startContainer.parentElement.scrollIntoView({ block: "nearest" });
    requestAnimationFrame(() => {
      const [at, frame] = [range.getBoundingClientRect(), box.getBoundingClientRect()];
      box.scrollTop += at.top - frame.top - frame.height / 3;
      if (!window.Highlight) { getSelection().removeAllRanges(); getSelection().addRange(range); }
    });
  };
  const search = async (form, step) => {
    const box = form.parentElement.querySelector(".json");
    const words = form.querySelector("input").value;
    const pieces = await load(box);
    if (form.words !== words) Object.assign(form, { words, places: words ? find(pieces, words) : [], at: -1 });
    const { places } = form;
    form.at = places.length ? (form.at + step + places.length) % places.length : -1;
    const more = places.length === MOST ? " or more" : "";
    form.querySelector("output").textContent = !words ? "" : places.length ? `${form.at + 1} of ${places.length}${more}` : "not found";
    mark("found", places);
    mark("current", places.slice(form.at, form.at + 1));
    if (places.length) go(box, places[form.at]);
  };
  document.addEventListener("change", (event) => {
    const panel = event.target.matches(".tab input[value=raw]") && event.target.closest(".case").querySelector(".panel.raw .json");
    if (panel) load(panel);
  });
  let waiting = 0;
  document.addEventListener("input", (event) => {
    const form = event.target.closest("form.find");
    clearTimeout(waiting);
    if (form) waiting = setTimeout(() => search(form, 1), 150);
  });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form.find")) return;
    event.preventDefault();
    clearTimeout(waiting);
    search(event.target, 1);
  });

  // 1 to 4 are the tabs of the case that is open.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !/^[1-4]$/.test(event.key)) return;
    if (event.target.closest("input:not([type=radio]), select, textarea") || document.querySelector("dialog[open]")) return;
    const open = document.querySelector(document.body.hasAttribute("data-local") ? ".case.open" : ".case");
    const tab = open?.querySelectorAll(".tab input")[Number(event.key) - 1];
    if (tab) { tab.click(); tab.focus({ preventScroll: true }); }
  });
  for (const tab of document.querySelectorAll(".tab input[value=raw]:checked")) tab.dispatchEvent(new Event("change", { bubbles: true }));
})();
