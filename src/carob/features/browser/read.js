// What a person reads on the page: of each place of `elements` its text and the text it had when the page was last
// marked, and line by line, with the element it is in, what is in none of them. Where the app has left the page
// that was marked, also the places as they were last. A box that cannot be written into is read as words are.
(elements, mark) => {
  const ignored = new Set(["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE", "SELECT", "IFRAME", "OBJECT"]);
  const NARROW = 20;  // editors of code have invisible boxes
  const shown = (element, style) => style.display === "contents" || element.checkVisibility();
  const path = (element) => [
    element.tagName.toLowerCase(),
    element.id && `#${element.id}`,
    ...[...element.classList].map((name) => `.${name}`),
    element.role && `[role=${element.role}]`,
    element.ariaLabel && `[aria-label="${element.ariaLabel}"]`,
  ].join("");

  class Text {
    constructor() { this.text = ""; this.breaks = 0; this.lines = []; this.hidden = []; }
    end(breaks) { this.breaks = Math.max(this.breaks, breaks); }
    newline(block) { this.text = this.text.replace(/ +$/, ""); this.add("\n", block); }
    add(text, block) {
      if (!text.trim() && (this.breaks || !this.text)) return;
      if (this.breaks) this.text = this.text.trimEnd() + "\n".repeat(this.text && this.breaks);
      if (this.breaks || !this.text) this.lines.push({ text: "", path: path(block) });
      this.breaks = 0;
      this.text += text;
      this.lines.at(-1).text += text;
    }
  }

  const order = new Map(elements.map((element, index) => [element, index]));
  const outermost = elements.filter((one) => !elements.some((other) => other !== one && other.contains(one)));
  const places = new Map(outermost.map((element) => [element, new Text()]));
  const outside = new Text();

  const breaksOf = (node, style) => {
    if (node.tagName === "P") return 2;
    if (node.tagName === "BUTTON" || places.has(node)) return 1;
    return /^(inline|contents|ruby|table-cell)/.test(style.display) ? 0 : 1;
  };
  const content = (node) => node.shadowRoot ? node.shadowRoot.childNodes
    : node.tagName === "SLOT" && node.assignedNodes().length ? node.assignedNodes() : node.childNodes;
  const put = (node, block, into) => {
    const element = node.parentElement || block;
    const blank = !node.data.trim();
    const seen = blank ? node.data : seenText(node, element);
    if (seen !== node.data) into.hidden.push(node.data.trim());
    const kept = styleOf(element).whiteSpaceCollapse !== "collapse";
    const data = kept ? seen : seen.replace(/[ \t\r\n\f]+/g, " ");
    into.add(!kept && /\s$/.test(into.text) ? data.trimStart() : data, block);
  };
  const enter = (node, block, into) => {
    const style = styleOf(node);
    if (style.display === "none" || !shown(node, style)) return;
    const inside = places.get(node) || into;
    const breaks = breaksOf(node, style);
    if (style.display === "table-cell" && node.previousElementSibling) inside.add("\t", block);
    inside.end(breaks);
    walk(content(node), breaks ? node : block, inside);
    inside.end(breaks);
  };
  const isBox = (node) => node.tagName === "TEXTAREA" || (node.tagName === "INPUT" && node.type === "text");
  const showsWords = (node) => node.tagName === "TEXTAREA" && node.readOnly && node.offsetWidth > NARROW;
  const readBox = (node, into) => {
    if (!shown(node, styleOf(node))) return;
    into.end(1);
    node.value.split("\n").forEach((line, at) => { if (at) into.newline(node); into.add(line, node); });
    into.end(1);
  };
  const walk = (nodes, block, into) => {
    for (const node of nodes) {
      if (node.nodeType === Node.TEXT_NODE) put(node, block, into);
      else if (node.nodeType !== Node.ELEMENT_NODE || ignored.has(node.tagName)) continue;
      else if (node.tagName === "BR") into.newline(block);
      else if (isBox(node)) { if (places.has(node) || showsWords(node)) readBox(node, places.get(node) || into); }
      else enter(node, block, into);
    }
  };

  walk(document.body.childNodes, document.body, outside);
  const before = window.carobTexts || new WeakMap();
  const texts = [...places].map(([element, { text }]) => [element, text.trim()]);
  const was = (element) => before.has(element) ? before.get(element) : null;
  const moved = !window.carobTexts || window.carobAddress !== location.href;
  const held = (window.carobHeld || []).filter((element) => !element.isConnected)
    .map((element) => ({ text: element.textContent.trim(), was: was(element), rewritten: false }));
  const gone = moved ? [...JSON.parse(sessionStorage.getItem("carob.left") || "[]"), ...held] : [];
  // Whether all that a place said was gone for a moment: a panel that is written anew, not a list that grows.
  const packed = (text) => text.replace(/\s+/g, "");
  const watched = (element, text) => {
    const old = text.split("\n").map(packed).filter(Boolean);
    const isThere = () => { const now = packed(element.textContent); return old.some((line) => now.includes(line)); };
    if (!isThere()) return [];
    const observer = new MutationObserver(() => { if (!isThere()) window.carobRewritten.add(element); });
    observer.observe(element, { subtree: true, childList: true, characterData: true });
    return [observer];
  };
  const rewritten = (element) => isBox(element) || Boolean(window.carobRewritten && window.carobRewritten.has(element));
  if (mark) {
    (window.carobObservers || []).forEach((observer) => observer.disconnect());
    window.carobRewritten = new WeakSet();
    window.carobObservers = texts.flatMap(([element, text]) => text ? watched(element, text) : []);
    sessionStorage.removeItem("carob.left");
    if (!window.carobTexts) addEventListener("pagehide", () => sessionStorage.setItem("carob.left", JSON.stringify(
      (window.carobHeld || []).map((element) => ({
        text: element.innerText.trim(), was: window.carobTexts.has(element) ? window.carobTexts.get(element) : null,
        rewritten: false,
      })))));
    window.carobTexts = new WeakMap(texts);
    window.carobAddress = location.href;
    window.carobHeld = [];
  }
  return {
    places: texts.map(([element, text]) => ({
      text, was: was(element), rewritten: rewritten(element), index: order.get(element), hidden: places.get(element).hidden.join("\n"),
    })),
    outside: outside.lines, moved, left: gone,
  };
}
