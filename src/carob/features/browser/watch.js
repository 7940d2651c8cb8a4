// Each sign is a question to the document and its open shadow roots. A text must stand at the end of a text of its own:
// an answer that speaks of thinking is not at work.
const install = (signs, fresh) => {
  const roots = new Set(), seen = new Set();
  let last = performance.now();
  const shown = (element) => Boolean(element) && element.checkVisibility({ visibilityProperty: true });
  const places = () => [...roots].filter((root) => root.isConnected);
  const found = (selector) => places().flatMap((root) => [...root.querySelectorAll(selector)]);
  const plain = (text) => text.trim().replace(/[.…\s]+$/, "").toLowerCase();
  const says = (data, text) => data.trim().length <= text.length + 40 && plain(data).endsWith(plain(text));
  const isIn = (root, text) => {
    const walker = document.createTreeWalker(root.body || root, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      if (says(node.data, text) && shown(node.parentElement || root.host)) return true;
    }
    return false;
  };
  const questions = {
    busy: (selector) => found(selector).some((element) => element.getAttribute("aria-busy") === "true"),
    spinner: (selector) => found(selector).some(shown),
    gone: (text) => places().some((root) => isIn(root, text)),
  };
  const below = (node, selector) => node.nodeType === Node.ELEMENT_NODE
    ? [...(node.matches(selector) ? [node] : []), ...node.querySelectorAll(selector)] : [];
  const flashes = {
    busy: (node, selector) => below(node, selector).some((element) => element.getAttribute("aria-busy") === "true"),
    spinner: (node, selector) => below(node, selector).length > 0,
    gone: (node, text) => says(node.textContent, text),
  };
  const mark = (sign) => { seen.add(sign); last = performance.now(); };
  const working = () => {
    const now = Object.keys(signs).filter((sign) => questions[sign](signs[sign]));
    now.forEach(mark);
    return now;
  };
  const adopt = (root) => {
    if (roots.has(root)) return;
    roots.add(root);
    observer.observe(root, {
      subtree: true, childList: true, characterData: true, attributes: true, attributeOldValue: true,
    });
    look(root);
  };
  const look = (node) => {
    if (node.shadowRoot) adopt(node.shadowRoot);
    if (node.querySelectorAll) for (const element of node.querySelectorAll("*"))
      if (element.shadowRoot) adopt(element.shadowRoot);
  };
  const observer = new MutationObserver((records) => {
    const added = new Set();
    for (const record of records) {
      if (signs.busy && record.attributeName === "aria-busy" && record.oldValue === "true"
          && record.target.matches(signs.busy)) mark("busy");
      for (const node of record.addedNodes) { added.add(node); look(node); }
      for (const node of record.removedNodes) if (added.has(node))
        for (const sign of Object.keys(signs)) if (flashes[sign](node, signs[sign])) mark(sign);
    }
    working();
  });
  const state = () => {
    look(document);
    const now = working();
    const unseen = Object.keys(signs).filter((sign) => !seen.has(sign));
    const matches = (sign) => sign === "gone" ? 0 : found(signs[sign]).length;
    return {
      now, fresh, calm: (performance.now() - last) / 1000,
      unseen: Object.fromEntries(unseen.map((sign) => [sign, matches(sign)])),
    };
  };
  if (window.carobWatch) window.carobWatch.stop();
  adopt(document);
  window.carobWatch = { state, stop: () => observer.disconnect() };
  return state();
};
