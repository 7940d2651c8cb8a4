// Note each complaint that the app clears, so that one that comes again in the same words is a new one.
(elements) => {
  window.carobCleared = [];
  for (const element of elements) {
    let text = element.innerText.trim();
    new MutationObserver(() => {
      if (text && element.isConnected && !element.innerText.trim()) { window.carobCleared.push(text); text = ""; }
    }).observe(element, { subtree: true, childList: true, characterData: true, attributes: true });
  }
}
