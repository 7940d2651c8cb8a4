// Where things stand on a picture of the whole page. Of elements: each one's box, or null where it cannot be seen there.
// Of texts: the words of each block of text within elements, those that are numbered by `only` or all, with their boxes.
(elements, { most, texts = false, only = null }) => {
  const onPicture = (rect, element) => {
    const box = left(rect, element);
    if (!box || box.scrolled) return null;
    return [box.left + scrollX, box.top + scrollY, box.right - box.left, box.bottom - box.top].map(Math.round);
  };
  if (!texts) return elements.slice(-most).map((element) => onPicture(element.getBoundingClientRect(), element));

  const blockOf = (node) => {
    let at = node.parentElement;
    while (at.parentElement && /^(inline|contents)/.test(styleOf(at).display)) at = at.parentElement;
    return at;
  };
  const blocks = new Map();
  const range = document.createRange();
  const take = (node) => {
    if (!node.data.trim() || !node.parentElement.checkVisibility()) return;
    range.selectNodeContents(node);
    const box = onPicture(range.getBoundingClientRect(), node.parentElement);
    const block = blockOf(node), known = blocks.get(block) || { text: "", boxes: [] };
    known.text += node.data;
    if (box) known.boxes.push(box);
    blocks.set(block, known);
  };
  for (const root of only ? only.map((number) => elements[number]).filter(Boolean) : elements) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) take(walker.currentNode);
  }
  return [...blocks.values()].filter((block) => block.boxes.length).slice(-most);
}
