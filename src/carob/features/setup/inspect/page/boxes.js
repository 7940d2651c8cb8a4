// What prompts may be written into, and what may send them, the likeliest first.
() => {
  const BOX = "textarea, input:not([type]), input[type=text], input[type=search], [contenteditable=''], [contenteditable=true], "
    + "[contenteditable=plaintext-only], [role=textbox]";
  const ASKS = /messag|ask|chat|type|prompt|question|say|write|talk|help|reply|anything|what/i;
  const OTHER = /search|filter|e-?mail|user ?name|password|login|url|title|find|coupon|zip|phone/i;
  const labels = (element) => [element.ariaLabel, element.placeholder, element.dataset?.placeholder, element.title, element.id,
    element.getAttribute("name"), ...[...(element.labels || [])].map((label) => label.innerText)].filter(Boolean).join(" ");
  const worth = (element) => {
    const box = element.getBoundingClientRect(), words = labels(element);
    return (element.localName === "input" ? 0 : 2) + (ASKS.test(words) ? 2 : 0) - (OTHER.test(words) ? 4 : 0)
      - (element.type === "search" ? 2 : 0) + box.top / innerHeight + box.width / innerWidth
      + (element.closest("header, nav, [role=search], dialog") ? -2 : 0);
  };
  const SEND = /send|submit|ask|post|go\b|arrow|enter|reply|chat/i;
  const boxes = found(BOX).filter((element) => shown(element) && !element.disabled && !element.readOnly
    && !near(above(element), "[contenteditable=true], [role=textbox]"));
  boxes.sort((a, b) => worth(b) - worth(a));
  const buttonsOf = (box) => {
    let around = box.form || box.parentNode;
    const list = () => [...around.querySelectorAll("button, [role=button], input[type=submit]")].filter(shown);
    for (let up = 0; up < 6 && !list().length && (around.parentNode || around.host); up++) around = around.parentNode || around.host;
    const value = (button) => (SEND.test(`${labels(button)} ${button.innerText || button.value || ""} ${button.className}`) ? 4 : 0)
      + (button.type === "submit" ? 2 : 0) + (box.compareDocumentPosition(button) & Node.DOCUMENT_POSITION_FOLLOWING ? 1 : 0);
    return list().sort((a, b) => value(b) - value(a)).slice(0, 3);
  };
  const named = (element) => namesOf(element).filter((name) => found(name).find(shown) === element);
  const plain = (element) => ({
    tag: element.localName, words: labels(element).slice(0, 80), names: named(element),
  });
  window.carobBoxes = boxes.slice(0, 5);
  window.carobButtons = boxes.slice(0, 1).flatMap(buttonsOf);
  return { boxes: window.carobBoxes.map(plain), buttons: window.carobButtons.map(plain) };
}
