// The bench: the current document, its history, and drawing it.

const MOST_STEPS = 200; // of undo
const MOST_DRAWN = 20; // documents whose drawings are cached

const bench = {
  doc: null,
  saved: null, // the document as saved in its file, or as it was opened
  past: [],
  future: [],
  selected: null, // the EDUs of the node that is being edited
  changed: [], // the units that the last re-parse has changed
  preview: null, // a suggested document and its changed units, while it is previewed
  first: null, // the document as it was opened, for comparison
  models: [],
  model: null,
  style: "compact",
  colours: "relation",
  other: null, // the document that this one is compared with
  ranking: [],
  draft: null, // the id of the draft that stores unsaved work
  file: null, // the key of the open local file, if any,
  name: null, // its name,
  version: null, // and its version when it was read
};

// Show a message in the status line, which screen readers announce.

function say(message, isError = false) {
  const line = find("said");
  line.textContent = message;
  line.classList.toggle("error", isError);
}

// Run a function that may fail; an error is shown in the status line.
async function attempt(work) {
  say("");
  try {
    return await work();
  } catch (error) {
    say(error.message, true);
    return undefined;
  }
}

// The service.

async function ask(path, body, method = body ? "POST" : "GET", isRetry = false) {
  const headers = { "Content-Type": "application/json" };
  const key = sessionStorage.getItem("genrst-key");
  if (key) headers.Authorization = `Bearer ${key}`;
  let response;
  try {
    response = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  } catch {
    throw new Error("the server does not respond; your work is kept in this browser");
  }
  if (response.status === 401 && !isRetry && takeOtherKey()) return ask(path, body, method, true);
  if (response.status === 401) find("key").hidden = false;
  if (response.ok) return response;
  const { error } = await response.json().catch(() => ({ error: `server error ${response.status}` }));
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

// Put a document on the bench. `saved` is the version in its file; `draft` is the id of a draft that is continued.
async function open(doc, { file = null, name = null, version = null, past = [], first = doc, saved = doc, draft } = {}) {
  leaveDraft();
  Object.assign(bench, { doc, saved, past, future: [], first, file, name, version });
  Object.assign(bench, { selected: null, changed: [], other: null, preview: null, draft: draft ?? (await newDraft()) });
  isOnDisk = draft !== undefined;
  find("start").hidden = true;
  closeNotice();
  closeChoices();
  keepDraft();
  await draw({ isNew: true });
  goTo(pictures[0]?.nodes[0]);
  highlight(null); // otherwise the whole text would be highlighted
}

// Prepare a document that is opened: a tree that no parser made is frozen, unless it has constraints of its own.
function asItComes(doc) {
  return doc.tree && !doc.model && !doc.constraints?.length ? frozenWhole(doc) : doc;
}

// Replace the document by an edited one; the step can be undone.
function step(next, { select = bench.selected, changed = [], isLabel = false, isFreezing = false } = {}) {
  const before = bench.doc;
  const doc = sameWords(before, !isFreezing && isWholeFrozen(before) ? frozenWhole(next) : next);
  bench.past = [...bench.past, before].slice(-MOST_STEPS);
  selections.set(before, bench.selected);
  Object.assign(bench, { doc, future: [], selected: select, changed });
  closeChoices();
  if (isLabel) echo(select);
  else vanish();
  const lost = before.tree !== doc.tree && losses(before, doc); // if the tree is the same, they were removed on purpose
  if (lost) say(`also removed, because their units are gone: ${lost}; undo restores them`, true);
  return drawAndKeep();
}

// Store the draft while the service draws the document.
function drawAndKeep() {
  const drawn = draw();
  keepDraft();
  return drawn;
}

const selections = new WeakMap(); // the selection in each earlier document

function undo() {
  if (!bench.past.length) return say("nothing to undo");
  const doc = bench.past.at(-1);
  bench.future = [...bench.future, bench.doc];
  selections.set(bench.doc, bench.selected);
  Object.assign(bench, { doc, past: bench.past.slice(0, -1), changed: [], selected: selectedIn(doc) });
  closeChoices();
  say("undone");
  return drawAndKeep();
}

// The selection in a document: the stored one, else the current one; the whole document if that unit does not exist.
function selectedIn(doc) {
  const range = selections.get(doc) ?? bench.selected;
  return places(doc.tree).some((one) => range && isAt(one, range)) ? range : [0, doc.edus.length];
}

function redo() {
  if (!bench.future.length) return say("nothing to redo");
  const doc = bench.future.at(-1);
  bench.past = [...bench.past, bench.doc];
  selections.set(bench.doc, bench.selected);
  Object.assign(bench, { doc, future: bench.future.slice(0, -1), changed: [], selected: selectedIn(doc) });
  closeChoices();
  say("redone");
  return drawAndKeep();
}

// Drawing: the service lays out the tree, so that it looks the same everywhere; the page inserts the result.

let drawing = 0;
let [shownTrees, shownText] = ["", null];
const drawings = new Map(); // a cache of the last drawings by document, so that undo is instant

async function draw({ isNew = false } = {}) {
  const turn = ++drawing;
  const { style, colours } = bench;
  const [doc, other, naming] = sides();
  const request = { document: seen(doc), format: "parts" };
  const hasProbabilities = places(doc.tree).some((one) => one.node.probability !== undefined);
  if (other) Object.assign(request, { against: seen(other), ...naming });
  else Object.assign(request, { style, colours: hasProbabilities ? colours : "relation" });
  const parts = drawings.get(doc)?.get(drawingOf(request)) ?? (await askJson("/v1/render", request));
  keepDrawing(doc, request, parts);
  if (turn !== drawing) return;
  const folded = pictures.flatMap((picture) => [...picture.folded].map((node) => `${node.start}-${node.stop}`));
  const place = [pane.scrollLeft, pane.scrollTop];
  const hadFocus = pane.contains(document.activeElement) || document.activeElement === document.body;
  if (hadFocus) document.activeElement.blur(); // before anything moves, because blur forces a layout
  const isPatched = patch(parts.trees);
  if (!isPatched) pane.innerHTML = parts.trees;
  shownTrees = parts.trees;
  if (shownText !== parts.text) prose.innerHTML = parts.text ?? "";
  shownText = parts.text;
  prose.hidden = parts.text === null || find("prose").getAttribute("aria-pressed") === "false";

  document.querySelector(".facts").innerHTML = parts.facts;
  document.querySelector("h1").textContent = bench.name ?? doc.id;
  document.body.className = `${parts.kind} bench${bench.preview ? " previewing" : ""}`;
  showKept();
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
  afterDrawing();
  if (hadFocus && bench.selected) goTo(nodeAt(bench.selected) ?? pictures[0].nodes[0]);
  pane.dataset.drawing = turn; // tests wait for it
}

function drawingOf({ style, colours }) {
  return `${style} ${colours}`;
}

function keepDrawing(doc, request, parts) {
  if (request.against) return;
  const ways = drawings.get(doc) ?? new Map();
  drawings.delete(doc); // keeps the map in order of last use
  drawings.set(doc, ways.set(drawingOf(request), parts));
  for (const old of [...drawings.keys()].slice(0, -MOST_DRAWN)) drawings.delete(old);
}

// Hide removed units at once, before the new drawing arrives. Not if EDUs have changed, because ranges are renumbered.
function vanish() {
  const [before, now] = [bench.past.at(-1), bench.doc];
  if (!before || pictures.length !== 1 || before.edus.length !== now.edus.length) return;
  const left = new Set(places(now.tree).map((one) => rangeOf(one).join("-")));
  for (const node of pictures[0].nodes) {
    if (!left.has(`${node.start}-${node.stop}`)) node.group?.classList.add("gone");
  }
}

// Show a new label of the selected unit at once, before the new drawing arrives.
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
    group.classList.add("echo"); // forces a redraw of the node
  });
}

// Most of a picture stays the same after an edit, so replace only the nodes that differ. Returns false if that is not
// possible, because something else has changed or folding has moved nodes.
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

// The parts of a document that a drawing needs.
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

// Mark frozen units, changed units, and units with a comment or a flag.
function mark() {
  if (bench.other) return;
  const { doc, changed } = bench.preview ?? bench;
  const names = new Set(changed.map((range) => range.join("-")));
  const notes = shownNotes(doc);
  const isWhole = isWholeFrozen(doc); // the normal case for trees by people, which needs no marks
  for (const node of pictures[0].nodes) {
    const name = `${node.start}-${node.stop}`;
    const [isFixed, isNew] = [!isWhole && isFrozen(doc, [node.start, node.stop]), names.has(name)];
    const own = notes.get(name) ?? [];
    for (const element of [node.group, node.rect]) {
      element?.classList.toggle("fixed", isFixed);
      element?.classList.toggle("changed", isNew);
      element?.classList.toggle("noted", own.length > 0);
      element?.classList.toggle("flagged", own.some((one) => one.flag));
    }
    node.plain ??= node.title;
    node.title = [node.plain, ...own.map(noteText)].join("\n");
    const facts = [node.title, isFixed && "frozen", isNew && "changed"].filter(Boolean);
    setSvg(node.rect, { "aria-label": facts.join(", ") });
  }
}

// The summary: fade all EDUs but the most important ones.
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
