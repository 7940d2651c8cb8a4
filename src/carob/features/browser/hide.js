// Hide from assistive technology what no reader sees, or show it again. Gives whether there is any.
(on) => {
  if (!on) {
    for (const [node, was] of window.carobHidden || []) {
      if (node.nodeType === Node.TEXT_NODE) node.data ||= was;
      else if (was === null) node.removeAttribute("aria-hidden");
      else node.setAttribute("aria-hidden", was);
    }
    window.carobHidden = [];
    return false;
  }
  const things = /^(IMG|SVG|CANVAS|VIDEO|INPUT|TEXTAREA|SELECT|IFRAME|OBJECT|METER|PROGRESS)$/i;
  const unseen = [];
  // true: something in it is seen; false: nothing is, though there is something; null: there is nothing to see.
  const look = (element) => {
    const style = styleOf(element);
    if (/^(SCRIPT|STYLE|NOSCRIPT|TEMPLATE)$/.test(element.tagName)) return null;
    if (style.display !== "contents" && !element.checkVisibility()) return null;
    if (things.test(element.tagName)) return seenThing(element);
    const found = [];
    const below = element.shadowRoot ? element.shadowRoot.childNodes : element.childNodes;
    const dark = [];
    for (const node of below) {
      const seen = node.nodeType === Node.TEXT_NODE ? (node.data.trim() ? seenText(node, element) !== "" : null)
        : node.nodeType === Node.ELEMENT_NODE ? look(node) : null;
      if (seen === false) dark.push(node);
      found.push(seen);
    }
    const any = found.includes(true), none = !any && found.includes(false);
    if (!any && !none && element.matches("button, a[href], [role], [aria-label]")) return seenThing(element) || null;
    if (any) unseen.push(...dark);
    return any ? true : none ? false : null;
  };
  if (look(document.body) === false) unseen.push(...document.body.children);
  const isText = (node) => node.nodeType === Node.TEXT_NODE;
  window.carobHidden = unseen.map((node) => [node, isText(node) ? node.data : node.getAttribute("aria-hidden")]);
  for (const node of unseen) isText(node) ? (node.data = "") : node.setAttribute("aria-hidden", "true");
  return unseen.length > 0;
}
