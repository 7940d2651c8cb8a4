// Watches a page from before the prompt: what shows only while the assistant works, and when words changed.
() => {
  const STEP = 50, MOST = 400;
  const began = performance.now(), since = () => performance.now() - began;
  const before = new WeakSet(found("*")), touched = new WeakMap(), original = new Map();
  const signs = new Map(), old = new Map();  // `old`: how often each text was there, whatever element shows it
  for (const node of textsIn(document.body)) old.set(node.data.trim(), (old.get(node.data.trim()) || 0) + 1);
  let text = wordsOfPage(), changed = 0, pause = 0, changes = 0;
  const suggest = (kind, value) => {
    const key = `${kind} ${value}`;
    if (value && !signs.has(key) && signs.size < MOST) signs.set(key, {
      kind, value, named: WORKING.test(value), first: null, last: null, gap: 0,
    });
  };
  const standing = (words) => textsIn(document.body).some((node) => node.data.trim() === words && shown(above(node)));
  const on = ({ kind, value }) => kind === "gone" ? standing(value)
    : kind === "busy" ? found(value).some((element) => element.getAttribute("aria-busy") === "true")
    : found(value).some(shown);
  const ofElement = (element) => {
    if (element.getAttribute("aria-busy") === "true") namesOf(element).forEach((name) => suggest("busy", name));
    namesOf(element).forEach((name) => suggest("spinner", name));
    const words = element.childElementCount ? "" : element.textContent.trim();
    if (words && words.length <= 40 && (WORKING.test(words) || /(\.{3}|…)$/.test(words))) suggest("gone", words);
  };
  const ofAttribute = (element, name, was) => {
    const now = element.getAttribute(name);
    const own = namesOf(element).filter((one) => !one.startsWith(`[${name}=`));
    if (name === "aria-busy") {
      if (now === "true" || was === "true") own.forEach((one) => suggest("busy", one));
    } else if (name === "class") {
      const had = new Set((was || "").split(/\s+/)), came = [...element.classList].filter((one) => !had.has(one));
      came.filter(plainClass).forEach((one) => suggest("spinner", `${own.find((n) => n !== `.${one}`) || ""}.${one}`));
      if (had.size > element.classList.length - came.length && shown(element)) ofElement(element);  // one that hid it went
    } else if (/^data-/.test(name) && now && lasting(now) && name !== "data-state") {
      suggest("spinner", `[${name}=${css(now)}]`);
    } else if (/^(disabled|readonly)$/.test(name) && now !== null) {
      own.slice(0, 2).forEach((one) => suggest("spinner", `${one}[${name}]`));
    } else if (/^(style|hidden)$/.test(name) && shown(element)) {
      ofElement(element);
    }
  };
  const note = (sign) => {
    if (!on(sign)) return;
    const now = since();
    if (sign.last !== null) sign.gap = Math.max(sign.gap, now - sign.last);
    sign.first ??= now;
    sign.last = now;
  };
  const tick = () => {
    openRoots().forEach(adopt);
    [...signs.values()].forEach(note);
    const words = wordsOfPage();
    if (words === text) return;
    if (changes) pause = Math.max(pause, since() - changed);
    [text, changed, changes] = [words, since(), changes + 1];
  };
  // It was on until now, however long there was no time to look.
  const wasBusy = (element) => {
    for (const sign of signs.values()) if (sign.kind === "busy" && element.matches(sign.value)) {
      sign.first ??= since();
      sign.last = since();
    }
  };
  const touch = (node) => touched.set(node, since());
  const observer = new MutationObserver((records) => {
    for (const record of records) {
      if (record.type === "characterData") touch(record.target);
      if (record.type === "attributes") {
        const had = original.get(record.target) || original.set(record.target, new Map()).get(record.target);
        if (!had.has(record.attributeName)) had.set(record.attributeName, record.oldValue);
        ofAttribute(record.target, record.attributeName, had.get(record.attributeName));
        if (record.attributeName === "aria-busy" && record.oldValue === "true") wasBusy(record.target);
      }
      for (const node of record.addedNodes) {
        touch(node);
        if (node.nodeType === Node.ELEMENT_NODE) [node, ...[...node.querySelectorAll("*")].slice(0, 200)].forEach(ofElement);
      }
    }
    for (const sign of signs.values()) if (sign.first === null || sign.kind === "busy") note(sign);
  });
  const adopted = new WeakSet();
  const adopt = (root) => {
    if (adopted.has(root)) return;
    adopted.add(root);
    observer.observe(root, {
      subtree: true, childList: true, characterData: true, attributes: true, attributeOldValue: true,
    });
    for (const element of root.querySelectorAll("*")) if (!before.has(element)) {
      [element, ...element.childNodes].forEach(touch);
      ofElement(element);
    }
  };
  openRoots().forEach(adopt);
  const timer = setInterval(tick, STEP);
  const atWork = () => [...signs.values()].some((sign) => sign.first !== null && on(sign)
    && (sign.kind !== "spinner" || sign.named))
    || document.getAnimations().some((one) => one.playState === "running" && one.startTime > began
      && one.effect?.getTiming().iterations === Infinity && !before.has(one.effect.target));
  window.carobLook = {
    before, touched, old,
    state: () => ({ changes, quiet: (since() - changed) / 1000, working: atWork() }),
    stop: () => {
      tick();
      clearInterval(timer);
      observer.disconnect();
      return { pause, signs: [...signs.values()].filter((sign) => sign.first !== null && !on(sign)) };
    },
  };
}
