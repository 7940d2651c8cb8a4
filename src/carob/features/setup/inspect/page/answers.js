// Where the answer to a prompt is: selectors for the assistant's messages, the likeliest first.
([prompt, box]) => {
  const { before, touched } = window.carobLook, old = new Map(window.carobLook.old);
  const LABEL = 40;  // letters that a name or a time next to the prompt may have; with more, an answer quotes it
  const flat = (text) => text.replace(/\s+/g, " ").trim();
  const INLINE = /^(P|SPAN|A|B|I|EM|STRONG|CODE|PRE|LI|UL|OL|TABLE|TBODY|TR|TD|H[1-6]|BLOCKQUOTE|DL|DD|DT)$/;
  const CHROME = "button, [role=button], nav, footer, [role=status], [role=alert], [role=navigation], time, label, option, [aria-hidden=true]";
  const texts = textsIn(document.body);
  const wanted = flat(prompt);
  const echoes = found("*").filter((element) => holds(document.body, element) && !holds(box, element)
    && shown(element) && flat(element.textContent).includes(wanted)
    && ![...element.children].some((child) => flat(child.textContent).includes(wanted)));
  const isQuote = (element) => flat(element.textContent).length > wanted.length + LABEL;
  const bare = echoes.some((element) => !isQuote(element)) ? echoes.filter((element) => !isQuote(element)) : echoes;
  const echo = bare.filter((element) => !near(element, "nav, aside, title, header")).at(-1) || bare.at(-1) || null;
  const wasThere = (node) => {
    const left = old.get(node.data.trim()) || 0;
    old.set(node.data.trim(), left - 1);
    return left > 0;
  };
  const isNew = (node) => !wasThere(node) && (touched.has(node) || !before.has(above(node)));
  const fresh = texts.filter((node) => isNew(node) && shown(above(node)) && !near(above(node), CHROME)
    && !(echo && holds(echo, node)) && !holds(box, node));
  const stops = (element) => element === document.body || holds(element, box) || Boolean(echo && holds(element, echo));
  const branchOf = (node) => {
    let at = above(node);
    while (at && !stops(at) && above(at) && !stops(above(at))) at = above(at);
    return at && !stops(at) ? at : null;
  };
  const depth = (element) => element ? 1 + depth(above(element)) : 0;
  const branches = new Map();
  for (const node of fresh) {
    const branch = branchOf(node);
    if (branch) branches.set(branch, [...(branches.get(branch) || []), node]);
  }
  const letters = (nodes) => nodes.reduce((sum, node) => sum + flat(node.data).length, 0);
  // The rest of the page may change more than the conversation: that is the log, or what scrolls around the prompt.
  const LOG = "[role=log], [role=feed]", FEW = 12;
  const scrolls = (element) => /auto|scroll/.test(getComputedStyle(element).overflowY);
  const talkAround = (element) => !element || element === document.body ? null
    : element.matches(LOG) || scrolls(element) ? element : talkAround(above(element));
  const talk = echo && talkAround(above(echo));
  const said = [...branches].filter(([branch]) => talk && holds(talk, branch));
  const isTalk = said.some(([, nodes]) => letters(nodes) >= (talk.matches(LOG) ? 1 : FEW));
  const likely = isTalk ? said : [...branches];
  const most = Math.max(0, ...likely.map(([, nodes]) => letters(nodes)));
  const ranked = likely.filter(([, nodes]) => letters(nodes) >= 0.4 * most)
    .sort((a, b) => depth(b[0]) - depth(a[0]) || letters(b[1]) - letters(a[1]));

  const smallest = (branch, nodes) => {
    const inside = (element) => letters(nodes.filter((node) => holds(element, node)));
    let at = branch;
    for (;;) {
      const next = below(at).find((child) => inside(child) >= 0.85 * letters(nodes));
      if (!next) break;
      at = next;
    }
    while (INLINE.test(at.tagName) && at !== branch) at = above(at);
    return at;
  };
  const fits = (selector, element) => {
    const all = found(selector).filter(shown);
    return all.includes(element) && !all.some((one) => holds(one, box) || (echo && holds(one, echo)));
  };
  const extra = (element, nodes) => Math.max(0, flat(wordsIn(element)).length / Math.max(1, letters(nodes)) - 1);
  const score = (selector, element, nodes, branch) => {
    const strays = found(selector).filter((one) => shown(one) && !before.has(one) && !holds(branch, one)).length;
    const kind = / /.test(selector) ? 0 : selector.startsWith("[data-") ? 2 : selector.startsWith("[") ? 1.5 : 1;
    return kind + (SPEAKER.test(selector) ? 4 : 0) + (SPOKEN.test(selector) ? 1 : 0)
      - 3 * Math.min(1, extra(element, nodes)) - 6 * Math.min(1, strays)
      - (INLINE.test(element.tagName) ? 3 : 0);
  };
  const candidates = [];
  const offer = (selector, element, nodes, branch) => {
    if (!candidates.some((one) => one.selector === selector) && fits(selector, element))
      candidates.push({ selector, score: score(selector, element, nodes, branch), words: wordsIn(element).slice(0, 300) });
  };
  for (const [branch, nodes] of ranked.slice(0, 3)) {
    const chain = [];
    for (let at = smallest(branch, nodes); at; at = at === branch ? null : above(at)) chain.push(at);
    for (const element of chain) for (const name of namesOf(element)) offer(name, element, nodes, branch);
    // An element without a name of its own may be found by that of an ancestor.
    for (const [place, outer] of chain.entries()) for (const name of namesOf(outer)) for (const inner of chain.slice(0, place))
      for (const small of [...namesOf(inner), inner.localName]) offer(`${name} ${small}`, inner, nodes, branch);
  }
  const times = ranked.length ? ranked[0][1].map((node) => touched.get(node) || touched.get(above(node)) || 0) : [];
  return {
    echoed: Boolean(echo), spoke: Math.max(0, ...times),
    words: ranked.length ? ranked[0][1].map((node) => node.data.trim()).join(" ").slice(0, 600) : "",
    places: candidates.sort((a, b) => b.score - a.score).slice(0, 8),
  };
}
