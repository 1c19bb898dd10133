// The bench: the document that is being worked on, its past, and how it is drawn. It is kept in this browser, so that
// a reload loses nothing; the service keeps nothing.

const STORE = "genrst-bench";
const MOST_STEPS = 200; // that can be undone
const MOST_KEPT = 20; // of them that survive a reload
const MOST_DRAWN = 20; // whose pictures are kept

const bench = {
  doc: null,
  past: [],
  future: [],
  selected: null, // the EDUs of the node that is being edited
  changed: [], // the units that are new since the parser was asked again
  first: null, // the document as it came, to compare with
  models: [],
  model: null,
  style: "compact",
  colours: "relation",
  other: null, // the document that this one is compared with
  ranking: [],
  file: null, // the number of the local file that is open, if there are any,
  name: null, // its name,
  version: null, // and what it was when it was read
};

// Saying what happened, also to those who do not see it.

function say(message, isError = false) {
  const line = find("said");
  line.textContent = message;
  line.classList.toggle("error", isError);
}

// Do something that may fail; a failure is said, and everything stays as it was.
async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    say(error.message, true);
    return undefined;
  }
}

// The service.

async function ask(path, body, method = body ? "POST" : "GET") {
  const headers = { "Content-Type": "application/json" };
  const key = sessionStorage.getItem("genrst-key");
  if (key) headers.Authorization = `Bearer ${key}`;
  let response;
  try {
    response = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  } catch {
    throw new Error("the service does not answer; your work is kept in this browser");
  }
  if (response.status === 401) find("key").hidden = false;
  if (response.ok) return response;
  const { error } = await response.json().catch(() => ({ error: `the service failed: ${response.status}` }));
  throw Object.assign(new Error(error), { status: response.status });
}

async function askJson(path, body, method) {
  return (await ask(path, body, method)).json();
}

function modelInUse() {
  return bench.models.find((one) => one.name === bench.model);
}

async function parse(request) {
  document.body.setAttribute("aria-busy", "true");
  try {
    return await askJson("/v1/parse", { ...request, model: bench.model ?? undefined });
  } finally {
    document.body.removeAttribute("aria-busy");
  }
}

// History.

function open(doc, { file = null, name = null, version = null, past = [], first = doc } = {}) {
  Object.assign(bench, { doc, past, future: [], first, file, name, version, selected: null, changed: [], other: null });
  find("start").hidden = true;
  remember();
  return draw({ isNew: true });
}

// Take a step: the document becomes another one, and can become the old one again.
function step(doc, { select = bench.selected, changed = [], isLabel = false } = {}) {
  const before = bench.doc;
  bench.past = [...bench.past, before].slice(-MOST_STEPS);
  Object.assign(bench, { doc: sameWords(before, doc), future: [], selected: select, changed });
  if (isLabel) echo(select);
  else vanish();
  return drawAndRemember();
}

// The document is kept while the service draws it.
function drawAndRemember() {
  const drawn = draw();
  remember();
  return drawn;
}

function undo() {
  if (!bench.past.length) return say("there is nothing to undo");
  bench.future = [...bench.future, bench.doc];
  Object.assign(bench, { doc: bench.past.at(-1), past: bench.past.slice(0, -1), changed: [] });
  say("undone");
  return drawAndRemember();
}

function redo() {
  if (!bench.future.length) return say("there is nothing to redo");
  bench.past = [...bench.past, bench.doc];
  Object.assign(bench, { doc: bench.future.at(-1), future: bench.future.slice(0, -1), changed: [] });
  say("done again");
  return drawAndRemember();
}

// Long documents may not fit with their past: then less of it is kept.
function remember() {
  const { doc, first, model, style, colours, file, name, version } = bench;
  for (let steps = MOST_KEPT; ; steps = Math.floor(steps / 2)) {
    const kept = {
      doc,
      first,
      model,
      style,
      colours,
      file,
      name,
      version,
      past: steps ? bench.past.slice(-steps) : [],
    };
    try {
      localStorage.setItem(STORE, JSON.stringify(kept));
      return;
    } catch {
      if (!steps) return say("this browser has no room to keep the document: save it before you leave", true);
    }
  }
}

function recall() {
  try {
    return JSON.parse(localStorage.getItem(STORE));
  } catch {
    return null;
  }
}

// Drawing: the service lays the tree out, so that it looks as everywhere else; the page puts it in its place.

let drawing = 0;
let [shownTrees, shownText] = ["", null];
const drawings = new Map(); // the last ones, by their documents: a step that is undone shows at once

async function draw({ isNew = false } = {}) {
  const turn = ++drawing;
  const { doc, other, style, colours } = bench;
  const request = { document: seen(doc), format: "parts" };
  const hasProbabilities = places(doc.tree).some((one) => one.node.probability !== undefined);
  if (other) Object.assign(request, { against: seen(other) });
  else Object.assign(request, { style, colours: hasProbabilities ? colours : "relation" });
  const parts = drawings.get(doc)?.get(drawingOf(request)) ?? (await askJson("/v1/render", request));
  keepDrawing(doc, request, parts);
  if (turn !== drawing) return;
  const folded = pictures.flatMap((picture) => [...picture.folded].map((node) => `${node.start}-${node.stop}`));
  const place = [pane.scrollLeft, pane.scrollTop];
  const hadFocus = pane.contains(document.activeElement) || document.activeElement === document.body;
  if (hadFocus) document.activeElement.blur(); // before anything moves, since losing the focus has the page laid out
  const isPatched = patch(parts.trees);
  if (!isPatched) pane.innerHTML = parts.trees;
  shownTrees = parts.trees;
  if (shownText !== parts.text) prose.innerHTML = parts.text ?? "";
  shownText = parts.text;
  prose.hidden = parts.text === null || find("prose").getAttribute("aria-pressed") === "false";

  document.querySelector(".facts").innerHTML = parts.facts;
  document.querySelector("h1").textContent = document.title = doc.id;
  document.body.className = `${parts.kind} bench`;
  bench.ranking = parts.ranking;
  show(parts.data);
  find("style").hidden = Boolean(other);
  find("style").textContent = style === "compact" ? "Classic" : "Compact";
  find("uncertain").disabled = find("colours").disabled = !hasProbabilities;
  if (isNew) settle();
  else settleAgain(folded, isPatched ? null : place);
  mark();
  summarise();
  showPanel();
  if (hadFocus && bench.selected) goTo(nodeAt(bench.selected));
  pane.dataset.drawing = turn; // for those who wait for it
}

function drawingOf({ style, colours }) {
  return `${style} ${colours}`;
}

function keepDrawing(doc, request, parts) {
  if (request.against) return;
  const ways = drawings.get(doc) ?? new Map();
  drawings.delete(doc); // the last ones are those that were seen last
  drawings.set(doc, ways.set(drawingOf(request), parts));
  for (const old of [...drawings.keys()].slice(0, -MOST_DRAWN)) drawings.delete(old);
}

// Units that are gone vanish at once; the drawing follows. Where EDUs have changed, other units have their numbers.
function vanish() {
  const [before, now] = [bench.past.at(-1), bench.doc];
  if (!before || pictures.length !== 1 || before.edus.length !== now.edus.length) return;
  const left = new Set(places(now.tree).map((one) => rangeOf(one).join("-")));
  for (const node of pictures[0].nodes) {
    if (!left.has(`${node.start}-${node.stop}`)) node.group?.classList.add("gone");
  }
}

// A new label of the selected unit is shown at once, where the old one was; the drawing follows.
function echo(range) {
  const place = range && pictures.length === 1 && places(bench.doc.tree).find((one) => isAt(one, range));
  if (!place || !isUnit(place)) return;
  const labels = labelsOf(place.node);
  partsOf(place).forEach((part, index) => {
    const group = pictures[0].byRange.get(rangeOf(part).join("-"))?.group;
    if (!group) return;
    const [mark, relation] = [group.querySelector(".mark"), group.querySelector(".relation")];
    if (mark) mark.textContent = place.node.nuclearity[index];
    if (relation && labels[index] !== "span") relation.textContent = labels[index];
    group.classList.add("echo"); // to be drawn again, whatever it was before
  });
}

// Most of a picture stays the same after an edit: put in only nodes that are drawn otherwise. False if that will not
// do, since something else has changed or nodes have been moved by folding.
const NODE = /<g class="node" data-start="(\d+)" data-stop="(\d+)">\n([^]*?)\n<\/g>\n/g;

function patch(trees) {
  const svg = pane.querySelector("svg.genrst");
  const around = (html) => html.replace(NODE, "").replace(/ (width|height|viewBox)="[\d. ]+"/g, "");
  if (!svg || pictures.length !== 1 || !pictures[0].isWhole || around(trees) !== around(shownTrees)) return false;
  const [old, groups] = [new Map(), new Map()];
  for (const [, start, stop, content] of shownTrees.matchAll(NODE)) old.set(`${start}-${stop}`, content);
  for (const group of svg.querySelectorAll(".node")) groups.set(`${group.dataset.start}-${group.dataset.stop}`, group);
  const [, size, width, height] = trees.match(
    /<svg[^>]* width="(?:[\d.]+)" height="(?:[\d.]+)" (viewBox="0 0 ([\d.]+) ([\d.]+)")/,
  );
  setSvg(svg, { viewBox: size.slice(9, -1) });
  setSvg(svg.querySelector(".paper"), { width, height });
  for (const [, start, stop, content] of trees.matchAll(NODE)) {
    const key = `${start}-${stop}`;
    const group = groups.get(key) ?? createSvg("g", { class: "node", "data-start": start, "data-stop": stop });
    if (old.get(key) !== content || group.classList.contains("echo")) group.innerHTML = content;
    group.classList.remove("echo");
    if (!groups.has(key)) svg.append(group);
    groups.delete(key);
  }
  for (const group of groups.values()) group.remove();
  return true;
}

// What a picture needs of a document.
function seen(doc) {
  const { id, text, edus, tree, paragraphs, sentences } = doc;
  return { id, text, edus, tree, ...(paragraphs && { paragraphs }), ...(sentences && { sentences }), ...layersOf(doc) };
}

function settleAgain(folded, place) {
  for (const picture of pictures) {
    const isFolded = (node) => node.children.length && folded.includes(`${node.start}-${node.stop}`);
    picture.folded = new Set(folded.length ? picture.nodes.filter(isFolded) : []);
    if (picture.folded.size) picture.refresh();
  }
  if (place) pane.scrollTo(...place);
}

function nodeAt(range) {
  const node = pictures[0]?.byRange.get(range.join("-"));
  return node && pictures[0].visible(node);
}

// Frozen units, and those that have changed.
function mark() {
  if (bench.other) return;
  const changed = new Set(bench.changed.map((range) => range.join("-")));
  for (const node of pictures[0].nodes) {
    const isFixed = isFrozen(bench.doc, [node.start, node.stop]);
    const isNew = changed.has(`${node.start}-${node.stop}`);
    for (const element of [node.group, node.rect]) {
      element?.classList.toggle("fixed", isFixed);
      element?.classList.toggle("changed", isNew);
    }
    const facts = [node.title, isFixed && "frozen", isNew && "changed"].filter(Boolean);
    setSvg(node.rect, { "aria-label": facts.join(", ") });
  }
}

// The summary: the most important EDUs stand out, the others fade.
function summarise() {
  const share = Number(find("share").value);
  const n = Math.max(1, Math.round((bench.ranking.length * share) / 100));
  const told = new Set(bench.ranking.slice(0, n));
  find("told").textContent = share < 100 ? `${n} of ${bench.ranking.length} EDUs` : "all";
  for (const span of edus) span.classList.toggle("untold", share < 100 && !told.has(Number(span.dataset.edu)));
  if (bench.other) return;
  for (const node of pictures[0].nodes) {
    if (!node.children.length) node.group?.classList.toggle("untold", share < 100 && !told.has(node.start));
  }
}
