// Interaction: pointing, keyboard navigation, folding, zooming, and keeping trees and text in sync.

const find = (id) => document.getElementById(id);
const pane = find("trees");
const prose = find("text");
const tip = find("tip");
const levels = find("levels");
let [views, drawn, pictures, edus] = [[], [], [], []]; // the current content of the page; see `show`

function nodeOf(element) {
  const rect = element.closest?.(".areas rect");
  const picture = rect && pictures.find((one) => one.svg.contains(rect));
  return picture ? picture.nodes[Number(rect.dataset.index)] : null;
}

let zoom = 1;

// Initialise the trees and the text in the page, given their data.
function show(data) {
  views = [...pane.querySelectorAll(".view")]; // the styles of a single tree, one of which is shown; empty if there are two trees
  drawn = [...pane.querySelectorAll("svg.genrst")].map((svg, number) => () => new Picture(svg, data[number], zoom));
  pictures = (views.length ? drawn.slice(0, 1) : drawn).map((draw) => draw());
  edus = prose ? [...prose.querySelectorAll(".edu")] : [];
  styled = new Map([[views[0], pictures[0]]]);
  offerLevels();
  nameStyle();
}

// Highlighting: the node, the same span in other trees, and the text.

function highlight(node) {
  for (const element of document.querySelectorAll(".on")) element.classList.remove("on");
  if (!node) return;
  for (const one of [node, ...others(node)]) one.picture.visible(one).rect.classList.add("on");
  for (const span of edus) {
    const edu = Number(span.dataset.edu);
    if (edu >= node.start && edu < node.stop) span.classList.add("on");
  }
}

// The counterparts of a node in other trees: the nodes with the same span, or else the EDUs inside it.
function others(node) {
  const same = twins(node);
  return same.length ? same : elsewhere(node).filter((other) => !other.children.length && isInside(other, node));
}

function twins(node) {
  return elsewhere(node).filter((other) => isInside(other, node) && isInside(node, other));
}

function elsewhere(node) {
  return pictures.flatMap((picture) => (picture === node.picture ? [] : picture.nodes));
}

function isInside(inner, outer) {
  return outer.span[0] <= inner.span[0] && inner.span[1] <= outer.span[1];
}

function focused() {
  return nodeOf(document.activeElement) ?? leafOf(document.activeElement);
}

function leafOf(element) {
  const span = element.closest?.(".edu");
  return span ? pictures[0].byRange.get(`${span.dataset.edu}-${Number(span.dataset.edu) + 1}`) : null;
}

function showTip(node, x, y, lowest = innerHeight) {
  tip.textContent = node.title;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - width - 8))}px`;
  tip.style.top = `${y + 18 + height > lowest ? Math.max(4, y - height - 10) : y + 18}px`;
  tip.classList.add("shown");
}

function hideTip() {
  tip.classList.remove("shown");
}

let pointed = null;

function point(node) {
  if (node !== pointed) highlight(node ?? focused());
  if (!node) hideTip();
  pointed = node;
}

document.addEventListener("pointermove", (event) => {
  if (event.pointerType === "touch") return;
  point(nodeOf(event.target) ?? leafOf(event.target));
  if (pointed) showTip(pointed, event.clientX, event.clientY);
});
document.documentElement.addEventListener("pointerleave", () => point(null));

// Focus: one node of each tree and one EDU of the text can be reached with Tab, the others with the arrow keys.

document.addEventListener("focusin", (event) => {
  const node = nodeOf(event.target) ?? leafOf(event.target);
  highlight(node);
  hideTip();
  if (!node) return;
  const inTree = nodeOf(event.target);
  for (const other of inTree ? node.picture.nodes.map((one) => one.rect) : edus) {
    if (other.tabIndex === 0) other.tabIndex = -1;
  }
  event.target.tabIndex = 0;
  if (!inTree) return;
  reveal(node);
  // In a corner, where it does not cover the next nodes.
  const { left, bottom } = pane.getBoundingClientRect();
  if (event.target.matches(":focus-visible")) showTip(node, left, bottom, bottom);
});
document.addEventListener("focusout", () => highlight(null));

function goTo(node) {
  node?.rect.focus({ preventScroll: true });
}

// The position of a node on the screen: the point where lines from above meet it.
function placeOf(node) {
  const { left, top } = node.picture.svg.getBoundingClientRect();
  return [left + node.at[0] * zoom, top + node.at[1] * zoom];
}

// Scroll the tree and the text so that a node is visible.
function reveal(node) {
  const [x, y] = placeOf(node);
  const frame = pane.getBoundingClientRect();
  const [marginX, marginY] = [Math.min(120, frame.width / 4), Math.min(80, frame.height / 4)];
  const beyond = (place, low, high) => Math.min(place - low, 0) + Math.max(place - high, 0);
  pane.scrollBy(
    beyond(x, frame.left + (node.picture.across ? marginX : 20), frame.right - marginX),
    beyond(y, frame.top + 20, frame.bottom - marginY),
  );
  edus.find((span) => Number(span.dataset.edu) === node.start)?.scrollIntoView({ block: "nearest" });
}

// Keyboard navigation. After the last child, it continues with the node after the parent.

function neighbour(node, step) {
  for (let one = node; one; one = one.up) {
    const siblings = one.up ? one.up.children : one.picture.roots;
    const next = siblings[siblings.indexOf(one) + step];
    if (next) return next;
  }
  return null;
}

function child(node) {
  if (!node.picture.folded.has(node)) return node.children[0];
  setFolded(node, false);
  return null;
}

function last(node) {
  return node.picture.visible(node.picture.nodes.at(-1));
}

const DOWN = { ArrowUp: "before", ArrowDown: "after", ArrowLeft: "up", ArrowRight: "down" };
const ACROSS = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "before", ArrowRight: "after" };
const MIRRORED = { ArrowLeft: "ArrowRight", ArrowRight: "ArrowLeft" };
const MOVES = {
  before: (node) => neighbour(node, -1),
  after: (node) => neighbour(node, 1),
  up: (node) => node.up,
  down: child,
};

function walk(node, key) {
  if (key === "Home") return goTo(node.picture.nodes[0]);
  if (key === "End") return goTo(last(node));
  const arrow = node.picture.mirrored ? (MIRRORED[key] ?? key) : key;
  return goTo(MOVES[(node.picture.across ? ACROSS : DOWN)[arrow]](node));
}

function walkText(span, key) {
  const steps = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -edus.length, End: edus.length };
  const next = edus.indexOf(span) + steps[key];
  edus[Math.max(0, Math.min(next, edus.length - 1))].focus();
}

// Folding. The same span of another tree is folded as well.

function setFolded(node, isFolded) {
  const before = placeOf(node);
  for (const one of [node, ...twins(node)]) {
    if (one.children.length) one.picture.setFolded(one, isFolded);
  }
  const now = placeOf(node);
  pane.scrollBy(now[0] - before[0], now[1] - before[1]);
}

let clicksFold = true;

function toggle(node) {
  if (node.children.length) setFolded(node, !node.picture.folded.has(node));
}

document.addEventListener("click", (event) => {
  const node = nodeOf(event.target);
  if (node) {
    goTo(node);
    if (clicksFold) toggle(node);
    highlight(node);
  }
  const leaf = leafOf(event.target);
  if (leaf) reveal(leaf.picture.visible(leaf));
  if (!event.target.closest("details")) document.querySelector("details").open = false;
});

function offerLevels() {
  const nodes = pictures.flatMap((picture) => picture.nodes);
  const deepest = nodes.reduce((most, node) => Math.max(most, node.level - 1), 0);
  levels.replaceChildren();
  for (let level = 1; level < Math.min(deepest, 13); level++) levels.add(new Option(level, level));
  levels.add(new Option("all", Infinity, true, true));
}

levels.addEventListener("change", () => {
  for (const picture of pictures) picture.foldBelow(Number(levels.value));
});

// The other style is drawn on first use. It shows the same node, and is folded independently.

let styled;

function switchStyle() {
  if (views.length < 2) return;
  const node = focused();
  views.reverse();
  views.forEach((view, number) => (view.hidden = number > 0));
  const isNew = !styled.has(views[0]);
  if (isNew) styled.set(views[0], drawn[1]());
  pictures = [styled.get(views[0])];
  if (isNew) pictures[0].foldBelow(Number(levels.value));
  document.body.className = views[0].dataset.style;
  nameStyle();
  zoom = 1;
  setZoom(1, 0, 0);
  settle();
  if (node) goTo(pictures[0].visible(pictures[0].byRange.get(`${node.start}-${node.stop}`)));
}

function nameStyle() {
  const other = views[1]?.dataset.style;
  find("style").hidden = !other;
  find("style").textContent = other === "classic" ? "Classic" : "Compact";
}

// Saving the picture in its current state.

function save() {
  pictures.forEach((picture, number) => {
    const copy = picture.svg.cloneNode(true);
    const unseen = ".areas, .gone, .node:not(.folded) > .summary, .node:not(.folded) > .fold";
    for (const element of copy.querySelectorAll(unseen)) element.remove();
    const link = document.createElement("a");
    const source = new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
    link.href = URL.createObjectURL(source);
    link.download = `${document.title || "tree"}${pictures.length > 1 ? `-${number + 1}` : ""}.svg`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
}

// Finding EDUs by their text.

const field = find("find");
let found = -1;

function search(step) {
  const words = field.value.trim().toLowerCase();
  const leaves = pictures[0].nodes.filter((node) => !node.children.length);
  const places = words ? leaves.filter((leaf) => leaf.title.toLowerCase().includes(words)) : [];
  found = places.length ? (Math.max(found, -1) + step + places.length) % places.length : -1;
  highlight(places[found] ?? null);
  if (places.length) reveal(pictures[0].visible(places[found]));
  field.setAttribute("aria-invalid", String(Boolean(words && !places.length)));
}

field.addEventListener("input", () => {
  found = -1;
  search(1);
});
field.addEventListener("keydown", (event) => {
  if (event.key === "Enter") search(event.shiftKey ? -1 : 1);
});

// Zooming, centred on the pointer or on the middle of the visible part.

function setZoom(wanted, x = pane.clientWidth / 2, y = pane.clientHeight / 2) {
  const next = Math.max(0.1, Math.min(wanted, 5));
  const [left, top] = [(pane.scrollLeft + x) / zoom, (pane.scrollTop + y) / zoom];
  zoom = next;
  for (const picture of pictures) picture.setZoom(zoom);
  pane.scrollTo(left * zoom - x, top * zoom - y);
  find("actual").textContent = `${Math.round(zoom * 100)}%`;
}

function fitting() {
  const width = pictures.reduce((sum, picture) => sum + picture.width, 16 * pictures.length);
  const height = pictures.reduce((most, picture) => Math.max(most, picture.height), 40);
  return [pane.clientWidth / width, pane.clientHeight / height];
}

function fit() {
  setZoom(fitting()[0], 0, 0);
}

// Initially, a small tree is enlarged to use the available space, and one that is slightly too wide is shrunk.
function settle() {
  const [across, down] = fitting();
  if (across > 1) setZoom(Math.max(1, Math.min(across, down, 1.5)));
  else if (across > 0.75) setZoom(across);
}

function toggleText() {
  if (!prose) return;
  prose.hidden = !prose.hidden;
  find("prose").setAttribute("aria-pressed", String(!prose.hidden));
}

const COMMANDS = {
  "+": () => setZoom(zoom * 1.2),
  "=": () => setZoom(zoom * 1.2),
  "-": () => setZoom(zoom / 1.2),
  0: () => setZoom(1),
  f: fit,
  t: toggleText,
  c: switchStyle,
  s: save,
  "/": () => field.focus(),
};
for (const [id, key] of Object.entries({ larger: "+", smaller: "-", actual: 0, fit: "f", prose: "t", style: "c", save: "s" })) {
  find(id).addEventListener("click", COMMANDS[key]);
}
find("prose").hidden = !prose;

pane.addEventListener(
  "wheel",
  (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const frame = pane.getBoundingClientRect();
    setZoom(zoom * Math.exp(-event.deltaY / 400), event.clientX - frame.left, event.clientY - frame.top);
  },
  { passive: false },
);

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("select, input, textarea")) return;
  if (event.key === "Escape") hideTip();
  const [node, span] = [nodeOf(event.target), event.target.closest(".edu")];
  const isWalk = event.key in DOWN || event.key === "Home" || event.key === "End";
  const isPress = event.key === "Enter" || event.key === " ";
  if (node && isWalk) walk(node, event.key);
  else if (node && isPress) toggle(node);
  else if (span && isWalk) walkText(span, event.key);
  else if (span && isPress) goTo(leafOf(span).picture.visible(leafOf(span)));
  else if (event.key in COMMANDS) COMMANDS[event.key]();
  else return;
  event.preventDefault();
});

const data = JSON.parse(find("data").textContent);
if (data.length) {
  show(data);
  settle();
}
