// What a reader sees, by what the browser knows of it: styles, boxes, clips and what lies above.
const FAINT = 0.1, OPAQUE = 0.9, TINY = 3, BLURRED = 0.5, ALIKE = 8;
const styles = new Map();
const styleOf = (element) => styles.get(element) || styles.set(element, getComputedStyle(element)).get(element);
const up = (element) => element.assignedSlot || element.parentElement || element.getRootNode().host || null;
const alpha = (color) => {
  const alpha = color.startsWith("rgba") ? color.match(/,\s*([\d.]+)\)$/) : color.match(/\/\s*([\d.]+)\)$/);
  return alpha ? Number(alpha[1]) : color === "transparent" ? 0 : 1;
};

// `filter: opacity(0)` hides as `opacity: 0` does, and `contrast(0)` makes all of it grey.
const filtered = (filter) => [...filter.matchAll(/\b(?:opacity|contrast)\(\s*([\d.]+)(%?)\s*\)/g)]
  .reduce((whole, [, part, percent]) => whole * Math.min(1, Number(part) / (percent ? 100 : 1)), 1);
const blurOf = (filter) => [...filter.matchAll(/\bblur\(\s*([\d.]+)px\s*\)/g)]
  .reduce((whole, [, radius]) => whole + Number(radius), 0);
const maskedAway = ({ maskImage, maskSize }) => {
  if (!maskImage || maskImage === "none") return false;
  if (/^0(px|%)?( |$)| 0(px|%)?$/.test(maskSize)) return true;
  const colors = /gradient\(/.test(maskImage) && !/url\(/.test(maskImage) && maskImage.match(/rgba?\([^)]*\)|transparent/g);
  return Boolean(colors) && colors.every((color) => alpha(color) < FAINT);
};

const inks = new Map();  // how strongly an element is painted, and whether its text is struck out
const inkOf = (element) => {
  if (!element) return { opacity: 1, blur: 0, struck: false, gone: false, cutOut: false };
  if (inks.has(element)) return inks.get(element);
  const style = styleOf(element), above = inkOf(up(element));
  const apart = /^inline-/.test(style.display) || /absolute|fixed/.test(style.position) || style.float !== "none";
  const ink = {
    opacity: maskedAway(style) ? 0 : above.opacity * Number(style.opacity) * filtered(style.filter),
    blur: above.blur + blurOf(style.filter),
    cutOut: above.cutOut || style.clipPath !== "none" || style.backfaceVisibility === "hidden",
    gone: above.gone || /^(DEL|S|STRIKE)$/.test(element.tagName),
    struck: (above.struck && !apart) || style.textDecorationLine.includes("line-through"),
  };
  inks.set(element, ink);
  return ink;
};

const cut = (box, by) => {
  const both = {
    left: Math.max(box.left, by.left), top: Math.max(box.top, by.top),
    right: Math.min(box.right, by.right), bottom: Math.min(box.bottom, by.bottom), scrolled: box.scrolled,
  };
  return both.right - both.left > 1 && both.bottom - both.top >= TINY ? both : null;
};
const insets = (path, size) => {
  const given = path.match(/^inset\(([^)]*)\)/)[1].split(" round ")[0].trim().split(/\s+/);
  const [top, right = top, bottom = top, left = right] = given;
  const long = (text, whole) => text.endsWith("%") ? parseFloat(text) / 100 * whole : parseFloat(text);
  return [long(top, size.height) + long(bottom, size.height), long(left, size.width) + long(right, size.width)];
};
const clippedAway = (element, style) => {
  const path = style.clipPath, rect = /^(absolute|fixed)$/.test(style.position) && style.clip.match(/-?[\d.]+/g);
  if (rect && (rect[2] - rect[0] <= 1 || rect[1] - rect[3] <= 1)) return true;
  if (/^(circle|ellipse)\(0(px|%)?[ )]/.test(path)) return true;
  if (/^polygon\(/.test(path)) return new Set(path.match(/-?[\d.]+/g)).size === 1;
  if (!/^inset\(/.test(path)) return false;
  const size = element.getBoundingClientRect(), [high, wide] = insets(path, size);
  return high >= size.height || wide >= size.width;
};
const frames = new Map();  // what of an element's style can clip what is in it: most have nothing
const frameOf = (element) => {
  if (frames.has(element)) return frames.get(element);
  const style = styleOf(element), root = element === document.body || element === document.documentElement;
  const across = style.overflowX, down = style.overflowY;
  const contains = /paint|strict|content/.test(style.contain), picture = element.tagName === "svg";
  const overflows = across !== "visible" || down !== "visible" || contains;
  const frame = {
    across: contains && across === "visible" ? "clip" : across, down: contains && down === "visible" ? "clip" : down,
    position: style.position,
    away: (style.clipPath !== "none" || style.clip !== "auto") && clippedAway(element, style),
    clips: overflows && !root && (picture || !/^(inline|contents)$/.test(style.display)),
    apart: style.transform !== "none" || style.filter !== "none",
  };
  frames.set(element, frame);
  return frame;
};
const ports = new Map();  // what of an element's content shows now, and what can be scrolled into sight
const portOf = (element) => {
  if (ports.has(element)) return ports.get(element);
  const outer = element.getBoundingClientRect();
  const left = outer.left + element.clientLeft, top = outer.top + element.clientTop;
  const port = {
    view: { left, top, right: left + element.clientWidth, bottom: top + element.clientHeight },
    reach: {
      left: left - element.scrollLeft, top: top - element.scrollTop,
      right: left - element.scrollLeft + element.scrollWidth, bottom: top - element.scrollTop + element.scrollHeight,
    },
  };
  ports.set(element, port);
  return port;
};
const WHOLE = { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity };
const clip = (box, element, { across, down }) => {
  const { view, reach } = portOf(element);
  for (const [overflow, low, high] of [[across, "left", "right"], [down, "top", "bottom"]]) {
    if (overflow === "visible" || box === null) continue;
    const here = cut(box, { ...WHOLE, [low]: view[low], [high]: view[high] });
    if (!/auto|scroll/.test(overflow)) { box = here; continue; }
    box = here || (cut(box, { ...WHOLE, [low]: reach[low], [high]: reach[high] })
      && { ...box, [low]: view[low], [high]: view[high], scrolled: true });
  }
  return box;
};
const holds = (frame, free) => frame.apart || (free === "absolute" && frame.position !== "static");

// What is left of a box of this element's content once everything around has clipped it; null: nothing.
const left = (rect, element) => {
  let box = { left: rect.left, top: rect.top, right: rect.right, bottom: rect.bottom, scrolled: false };
  if (box.right - box.left < 1 || box.bottom - box.top < TINY) return null;
  let free = "";
  for (let at = element; at && box; at = up(at)) {
    const frame = frameOf(at);
    if (frame.away) return null;
    if (!free || holds(frame, free)) {
      free = "";
      if (frame.clips) box = clip(box, at, frame);
    }
    if (!free && (frame.position === "absolute" || frame.position === "fixed")) free = frame.position;
  }
  if (!box) return null;
  if (free === "fixed") return cut(box, { left: 0, top: 0, right: innerWidth, bottom: innerHeight });
  return cut(box, pageBox());
};

let wholePage = null;
const pageBox = () => {
  const page = document.documentElement;
  return wholePage ||= {
    left: -scrollX, top: -scrollY,
    right: Math.max(page.scrollWidth, innerWidth) - scrollX, bottom: Math.max(page.scrollHeight, innerHeight) - scrollY,
  };
};

// A browser does not tell what lies at a point if it lets clicks through; a reader sees it all the same.
const touchable = (look) => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("* { pointer-events: auto !important }");
  document.adoptedStyleSheets.push(sheet);
  try {
    return look();
  } finally {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
  }
};
const painted = new Map();
const paints = (element) => {
  if (!painted.has(element)) painted.set(element, inkOf(element).opacity >= OPAQUE
    && (/^(IMG|CANVAS|VIDEO|IFRAME)$/.test(element.tagName) || alpha(styleOf(element).backgroundColor) >= OPAQUE));
  return painted.get(element);
};
const related = (one, other) => {
  for (let at = other; at; at = up(at)) if (at === one) return true;
  return one.contains(other) || other.contains(one);
};
const scrollerOf = (element) => {
  for (let at = up(element); at && at !== document.body && at !== document.documentElement; at = up(at))
    if (/auto|scroll/.test(styleOf(at).overflowY) && at.scrollHeight > at.clientHeight + 1) return at;
  return document.documentElement.scrollHeight > innerHeight + 1 ? document.documentElement : null;
};
// Whether an element goes along when this is scrolled.
const moves = (element, scroller) => {
  let free = "";
  for (let at = element; at; at = up(at)) {
    const frame = frameOf(at);
    if (free && holds(frame, free)) free = "";
    if (at === scroller) return !free || scroller === document.documentElement;
    if (/fixed|sticky/.test(frame.position)) return false;
    if (frame.position === "absolute") free = "absolute";
  }
  return false;
};
// What lies above a text hides it unless the text can be scrolled from below it.
const covers = (cover, element) => {
  const scroller = scrollerOf(element);
  if (!scroller || moves(cover, scroller)) return true;
  const port = scroller === document.documentElement
    ? { left: 0, top: 0, right: innerWidth, bottom: innerHeight } : scroller.getBoundingClientRect();
  const box = cover.getBoundingClientRect();
  return box.left <= port.left + 1 && box.top <= port.top + 1 && box.right >= port.right - 1 && box.bottom >= port.bottom - 1;
};
const alike = (one, other) => {
  const [these, those] = [one, other].map((color) => (color.match(/[\d.]+/g) || []).map(Number));
  return one === other || (/^rgb/.test(one) && /^rgb/.test(other) && alpha(one) === 1 && alpha(other) === 1
    && [0, 1, 2].every((part) => Math.abs(these[part] - those[part]) <= ALIKE));
};
// What is below a page that paints nothing itself; unknown in a frame and where the page may be dark.
const canvasColor = () => window === top && !/dark/.test(styleOf(document.documentElement).colorScheme)
  ? "rgb(255, 255, 255)" : "";
const hiddenAt = (x, y, element, color) => {
  const stack = element.getRootNode().elementsFromPoint(x, y);
  const own = stack.findIndex((one) => related(one, element)), itself = stack.indexOf(element);
  // A browser finds nothing where a shape cuts an element out, or at the back of one that has none.
  if (itself < 0 && inkOf(element).cutOut && !element.closest("[inert]") && !stack.some((one) => element.contains(one)))
    return true;
  if (stack.slice(0, Math.max(0, itself)).some((one) => one !== element && one.contains(element) && paints(one))) return true;
  if (stack.slice(0, own < 0 ? 0 : own).some((one) => paints(one) && covers(one, element))) return true;
  const below = own < 0 ? [] : stack.slice(own);
  const ground = below.findIndex((one) => paints(one) || styleOf(one).backgroundImage !== "none");
  if (color === "" || own < 0) return false;
  if (ground < 0) return alike(color, canvasColor());
  return styleOf(below[ground]).backgroundImage === "none" && alike(styleOf(below[ground]).backgroundColor, color);
};
const boxSeen = (rect, element, color = "") => {
  const box = left(rect, element);
  if (!box) return false;
  const y = (box.top + box.bottom) / 2;
  const points = [0.1, 0.5, 0.9].map((part) => box.left + (box.right - box.left) * part)
    .filter((x) => !box.scrolled && x >= 0 && y >= 0 && x < innerWidth && y < innerHeight);
  return !points.length || !points.every((x) => hiddenAt(x, y, element, color));
};

// The name of a picture, which an icon font draws in its place.
const isIcon = (text, style) => /\b(icons?|symbols?|awesome|glyphs?)\b/i.test(style.fontFamily.split(",")[0])
  && /^[\w-]{1,40}$/.test(text.trim());

// Of a text, what a reader sees: all of it, nothing, or the words that are not clipped.
const seenText = (node, element) => {
  const style = styleOf(element), ink = inkOf(element);
  const drawn = element instanceof SVGElement;  // its letters are shapes
  const fill = drawn ? (style.fill === "none" ? "transparent" : style.fill) : style.webkitTextFillColor || style.color;
  const shaped = style.webkitBackgroundClip === "text" || style.backgroundClip === "text";
  if (style.visibility !== "visible" || ink.struck || ink.gone || ink.opacity < FAINT) return "";
  if (style.contentVisibility === "hidden" || (element.tagName === "DETAILS" && !element.open)) return "";
  if (isIcon(node.data, style) || ink.blur >= BLURRED * parseFloat(style.fontSize)) return "";
  if (style.webkitTextSecurity && style.webkitTextSecurity !== "none") return "";
  if (!shaped && alpha(fill) * (drawn ? Number(style.fillOpacity) : 1) * ink.opacity < FAINT) return "";
  const range = document.createRange();
  const seen = (from, to) => {
    range.setStart(node, from);
    range.setEnd(node, to);
    return [...range.getClientRects()].map((rect) => boxSeen(rect, element, shaped || drawn ? "" : fill));
  };
  const all = seen(0, node.length);
  if (all.every(Boolean)) return all.length ? node.data : "";
  if (!all.some(Boolean)) return "";
  return node.data.replace(/\S+/g, (word, at) => seen(at, at + word.length).some(Boolean) ? word : "");
};

// Whether a reader sees a thing that is not text: a control, a picture.
const seenThing = (element) => {
  const parts = [element, ...(element.labels || [])];
  return parts.some((one) => styleOf(one).visibility === "visible" && inkOf(one).opacity >= FAINT
    && boxSeen(one.getBoundingClientRect(), one));
};
