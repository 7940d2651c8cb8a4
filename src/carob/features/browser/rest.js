// Wait until the page has not changed for `rest` milliseconds, but no longer than `most`.
([rest, most]) => new Promise((done) => {
  let timer = setTimeout(done, rest);
  const observer = new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(done, rest); });
  observer.observe(document, { subtree: true, childList: true, characterData: true });
  setTimeout(done, most);
})
