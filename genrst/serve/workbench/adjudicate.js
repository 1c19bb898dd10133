// Adjudication: two trees side by side, and a result, which starts as a copy of the left tree and takes the decisions.
// The result is the document on the bench, so editing, undo and redo work as usual. Every step is written to disk.

const adjudication = { number: null, pair: null, at: 0, isBoth: false, sent: null, version: null, edited: null };
const decisions = new WeakMap(); // decisions by document, so that undo restores them too
let deciding = Promise.resolve(); // one after the other, because each decision moves to the next row
let writing = Promise.resolve(); // one after the other, because each write needs the version of the previous one

// Whether the document on the bench is the result: opening any other document changes `first`.
function isAdjudicating() {
  return adjudication.pair !== null && bench.first === adjudication.pair.result;
}

// The trees to draw: those of both annotators, or the document on the bench and the one that it is compared with.
function sides() {
  const { pair, isBoth } = adjudication;
  if (!isAdjudicating() || !isBoth) return [(bench.preview ?? bench).doc, bench.other];
  return [pair.left, pair.right, { labels: "fine", names: folder.names }];
}

async function choosePair(number) {
  await deciding;
  await writing;
  if (await mayLeave()) await openPair(number);
}

async function openPair(number) {
  const pair = await askJson(`/v1/pairs/${number}`);
  Object.assign(adjudication, { number, pair, at: 0, isBoth: true, edited: null });
  Object.assign(adjudication, { sent: pair.result, version: pair.version });
  decisions.set(pair.result, pair.decisions);
  await open(pair.result, { name: folder.files[number].name });
  Object.assign(bench, { other: pair.right, selected: null });
  showPanel();
  showFolder();
  const n = pair.disagreements.length;
  if (!n && folder.hasOutput && pair.version === null) await afterStep();
  else say(pair.warnings.join("; ") || `${folder.files[number].name}: ${count(n)}`);
  if (n) goToDecision(nextUndecided(-1) ?? 0);
}

function count(n) {
  return n === 1 ? "one disagreement" : `${n || "no"} disagreements`;
}

function decided() {
  const last = [...bench.past, bench.doc].findLast((doc) => decisions.has(doc));
  const known = decisions.get(last) ?? {};
  decisions.set(bench.doc, known);
  return known;
}

// Switching between both trees and the result.

function showBoth() {
  Object.assign(adjudication, { isBoth: true, edited: null });
  Object.assign(bench, { other: adjudication.pair.right, selected: null });
  return draw({ isNew: true });
}

async function showResult() {
  adjudication.isBoth = false;
  bench.other = null;
  await draw({ isNew: true });
}

function switchView() {
  return adjudication.isBoth ? showResult() : showBoth();
}

// Deciding.

function needsOutput() {
  if (!folder.hasOutput) throw new Error("no output folder; start genrst annotate with --output FOLDER");
}

function decide(act) {
  needsOutput();
  if (!adjudication.pair.disagreements.length) throw new Error("there is nothing to decide");
  const turn = deciding.then(act);
  deciding = turn.catch(() => null);
  return turn;
}

async function takeSide(side) {
  const { at, number, pair } = adjudication;
  const [before, known] = [bench.doc, decided()];
  const request = { document: outgoing(before), number: at, side, sources: pair.sources };
  const { document: taken } = await askJson(`/v1/pairs/${number}/take`, request);
  if (bench.doc !== before) throw new Error("the result has changed in the meantime; try again");
  const drawn = step(followedByNotes(before, taken), { select: null });
  decisions.set(bench.doc, { ...known, [at]: side });
  await drawn;
  goToDecision(nextUndecided(at) ?? at);
}

// Move comments with their text when EDUs are renumbered.
function followedByNotes(before, after) {
  const notes = notesOf(before);
  if (!notes.length || before.edus.length === after.edus.length) return after;
  const holder = (offset) => Math.max(0, after.edus.findLastIndex((one) => one.start <= offset));
  const move = ([start, stop]) => [holder(before.edus[start].start), holder(before.edus[stop - 1].end - 1) + 1];
  return withNotes(
    after,
    notes.map((one) => ({ ...one, edus: move(one.edus) })),
  );
}

// The first call opens the result at the disagreement for editing; the second one records the edit as the decision.
async function editUnit() {
  const { at, edited, pair } = adjudication;
  if (edited === null) {
    adjudication.edited = bench.doc;
    await showResult();
    const { left_edus: range } = pair.disagreements[at];
    goTo(nodeAt(rangeInResult(range)) ?? pictures[0].nodes[0]);
    return say("edit the result, then press 3 to go back to both trees");
  }
  const known = decided();
  await showBoth();
  if (edited !== bench.doc) {
    decisions.set(bench.doc, { ...known, [at]: "edit" });
    await afterStep();
  }
  return goToDecision(edited === bench.doc ? at : (nextUndecided(at) ?? at));
}

// Map a range of EDUs in the left document to the result, where EDU boundaries may differ.
function rangeInResult([start, stop]) {
  const { left, result } = adjudication.pair;
  if (left.text !== result.text) return [start, stop];
  const starts = bench.doc.edus.map((one) => one.start);
  const end = stop < left.edus.length ? starts.indexOf(left.edus[stop].start) : starts.length;
  return [starts.indexOf(left.edus[start].start), end];
}

// The next undecided disagreement, wrapping around.
function nextUndecided(at) {
  const { length } = adjudication.pair.disagreements;
  const known = decided();
  for (let step = 1; step <= length; step++) {
    const next = (at + step + length) % length;
    if (known[next] === undefined) return next;
  }
  return null;
}

function goToDecision(at) {
  adjudication.at = at;
  showDecisions();
  const { left_edus: range } = adjudication.pair.disagreements[at];
  const node = adjudication.isBoth && nodeAt(range);
  if (node) reveal(node);
  const row = find("decide").querySelector("tr[aria-current]");
  row?.scrollIntoView({ block: "nearest" });
  row?.querySelector('button[tabindex="0"]')?.focus({ preventScroll: true });
}

// Highlight the current disagreement in both trees.
function markDecision() {
  const { pair, at, isBoth } = adjudication;
  const one = pair.disagreements[at];
  pictures.forEach((picture, side) => {
    const range = one && isBoth && [one.left_edus, one.right_edus][side].join("-");
    for (const node of picture.nodes) node.rect.classList.toggle("deciding", `${node.start}-${node.stop}` === range);
  });
}

// Writing the document on the bench to the output file.

function afterStep() {
  const [doc, known] = [bench.doc, decided()];
  adjudication.sent = doc;
  writing = writing.then(() => attempt(() => writeResult(doc, known)));
  return writing;
}

// The open pair is the one that the document belongs to, because opening another pair waits for this.
async function writeResult(doc, known) {
  const { number, version, pair } = adjudication;
  const body = { document: outgoing(doc), decisions: known, version, sources: pair.sources };
  const { name, version: now, warnings } = await askJson(`/v1/pairs/${number}`, body, "PUT");
  adjudication.version = now;
  if (isAdjudicating()) {
    bench.saved = doc;
    keepDraft();
  }
  await refreshFolder();
  const left = pair.disagreements.length - Object.keys(known).length;
  const rest = left ? `${left} left to decide` : "all decided; press N for the next open file";
  say([`saved to ${name}: ${rest}`, ...warnings].join("; "));
}

// The panel, with a row for each disagreement; it is updated after every drawing.

function showDecisions() {
  const panel = find("decide");
  panel.hidden = !isAdjudicating();
  if (panel.hidden) return;
  const { pair, isBoth, sent } = adjudication;
  markDecision();
  const known = decided();
  const held = panel.contains(document.activeElement) ? document.activeElement.id : null;
  const n = pair.disagreements.length;
  const title = folder.hasOutput ? `${Object.keys(known).length} of ${n} decided` : count(n);
  const view = isBoth ? "Show the result" : "Show both";
  const attributes = { id: "decide-view", hidden: !folder.hasOutput };
  const toggle = button(view, "Switch between the result and both trees (d)", switchView, attributes);
  const columns = ["EDUs", ...folder.names, ...(folder.hasOutput ? ["by hand"] : [])];
  const head = columns.map((name) => make("th", { scope: "col" }, name));
  const rows = pair.disagreements.map((one, index) => decisionRow(one, index, known[index]));
  panel.replaceChildren(
    make("div", { class: "row" }, make("h2", {}, n ? title : "The trees are identical"), toggle),
    make("table", { hidden: !n }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)),
  );
  if (held) find(held)?.focus();
  if (folder.hasOutput && bench.doc !== sent) afterStep();
}

function decisionRow(one, index, choice) {
  const isCurrent = index === adjudication.at;
  const name = `EDUs ${rangeName(one.left_edus)}`;
  const option = (kind, text, title, use) => {
    const act = () => {
      adjudication.at = index;
      return folder.hasOutput ? use() : goToDecision(index);
    };
    const attributes = {
      id: `decide-${index}-${kind}`,
      "aria-pressed": String(choice === kind),
      "aria-label": kind === "edit" ? `${name}: ${text} by hand` : `${name}: ${kind}, ${text}`,
      tabindex: isCurrent && kind === (choice ?? "left") ? 0 : -1,
    };
    return make("td", {}, button(text, title, act, attributes));
  };
  const cells = [
    option("left", one.left, "Take this (1)", () => decide(() => takeSide("left"))),
    option("right", one.right, "Take this (2)", () => decide(() => takeSide("right"))),
  ];
  const isEdited = adjudication.edited !== null && isCurrent;
  if (folder.hasOutput) cells.push(option("edit", isEdited ? "Edited" : "Edit", "Edit the result (3)", () => decide(editUnit)));
  const number = make("th", { scope: "row" }, rangeName(one.left_edus));
  const click = (event) => event.target.closest("button") || goToDecision(index);
  return make("tr", { click, ...(isCurrent && { "aria-current": "true" }) }, number, ...cells);
}

// Keys.

function whileAdjudicating(key, act) {
  const otherwise = COMMANDS[key];
  COMMANDS[key] = () => (isAdjudicating() ? attempt(act) : otherwise?.());
}

if (hasFolder()) {
  whileAdjudicating("1", () => decide(() => takeSide("left")));
  whileAdjudicating("2", () => decide(() => takeSide("right")));
  whileAdjudicating("3", () => decide(editUnit));
  whileAdjudicating("d", () => needsOutput() ?? switchView());
  whileAdjudicating("s", () => needsOutput() ?? afterStep());
  whileAdjudicating("v", () => {
    const next = nextUndecided(adjudication.at);
    if (next === null) throw new Error("everything is decided");
    return goToDecision(next);
  });
  find("decide").addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const across = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined && across === undefined) return;
    event.preventDefault();
    if (across) {
      const options = [...event.target.closest("tr").querySelectorAll("button")];
      options[options.indexOf(event.target) + across]?.focus();
      return;
    }
    const last = adjudication.pair.disagreements.length - 1;
    goToDecision(Math.max(0, Math.min(adjudication.at + step, last)));
  });
  keys
    .querySelector("dl")
    .append(make("dt", {}, "1, 2, 3, v, d"), make("dd", {}, "take left, right, edit; next undecided; show result"));
}
