// How an element can be named so that the name still fits in the next turn and the next build of the app.
const SPEAKER = /assistant|\bbot\b|bot[-_]|[-_]bot|\bai\b|ai[-_]|agent|received|incoming|response|answer|reply|model/i;
const SPOKEN = /message|chat|bubble|content|markdown|prose|turn/i;
const WORKING = /(?<!not[-_ ]?|un)(spin|loading|loader|typing|busy|pending|progress|generating|think|running|streaming|waiting|stop|cancel|working)/i;
const shown = (element) => Boolean(element) && element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
const css = (value) => JSON.stringify(value);
// Hashes of style tools, counters and ids of single messages name nothing that comes again.
const lasting = (name) => name.length > 1 && name.length <= 40 && !/\n/.test(name)
  && !/\d{2,}|^\d|[0-9a-f]{6,}/i.test(name) && !/^(svelte|css|sc|emotion|jsx|e|st-emotion)-\w*\d/.test(name);
const plainClass = (name) => /^-?[a-z_][\w-]*$/i.test(name) && lasting(name) && !/\d/.test(name);
const KEPT = /^(data-(?!v-|reactid|state$|orientation$|index$|key$|id$)|aria-label$|aria-roledescription$|role$|name$|placeholder$)/;

const attributesOf = (element) => [...element.attributes]
  .filter(({ name, value }) => KEPT.test(name) && value.trim() && lasting(value) && !(name === "name" && /\d/.test(value)))
  .map(({ name, value }) => `[${name}=${css(value)}]`);
const namesOf = (element) => [
  ...attributesOf(element),
  ...(element.id && lasting(element.id) && !/\d/.test(element.id) ? [`#${CSS.escape(element.id)}`] : []),
  ...[...element.classList].filter(plainClass).map((name) => `.${name}`),
  ...(element.localName.includes("-") ? [element.localName] : []),
];
// Open shadow roots are parts of the page: they are looked for anew only after a moment, because pages are large.
const inside = (root) => [root, ...[...root.querySelectorAll("*")].flatMap((one) => one.shadowRoot ? inside(one.shadowRoot) : [])];
let roots = [], rootsAt = -Infinity;
const openRoots = () => {
  if (performance.now() - rootsAt > 40) [roots, rootsAt] = [inside(document), performance.now()];
  return roots;
};
const found = (selector) => {
  try {
    return openRoots().flatMap((root) => [...root.querySelectorAll(selector)]);
  } catch {
    return [];
  }
};
const above = (node) => node.parentElement || node.getRootNode().host || null;
const holds = (outer, node) => Boolean(node) && (outer === node || holds(outer, above(node)));
const near = (element, selector) => element && (element.closest(selector) || near(element.getRootNode().host, selector));
const below = (element) => [...(element.shadowRoot ? element.shadowRoot.children : []), ...element.children];
const textsIn = (node) => [...(node.shadowRoot ? node.shadowRoot.childNodes : []), ...node.childNodes].flatMap((one) =>
  one.nodeType === Node.TEXT_NODE ? (one.data.trim() ? [one] : [])
    : one.nodeType !== Node.ELEMENT_NODE || /^(SCRIPT|STYLE|NOSCRIPT|TEMPLATE|TEXTAREA)$/.test(one.tagName) ? [] : textsIn(one));
const wordsIn = (element) => element.innerText.trim() || textsIn(element).map((one) => one.data.trim()).join(" ");
const wordsOfPage = () => openRoots().flatMap((root) => root === document ? [document.body] : [...root.children])
  .map((element) => element.innerText || "").join("\n");
