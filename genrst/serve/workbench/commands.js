// What happens at a click, a key or a dropped file, and how the bench is set up.

// Opening.

const FORMATS = ["rs3", "rs4", "dis", "json", "jsonl", "edus"];

async function openText(text, id = "text") {
  if (!text.trim()) throw new Error("there is no text yet");
  say("");
  const { documents, warnings } = await parse({ text, id });
  await open(documents[0]);
  say(warnings.join("; ") || `parsed: ${documents[0].edus.length} EDUs`);
}

async function openFile(file) {
  const [doc, warnings] = await readFile(file);
  if (!doc) return openText(await file.text(), file.name.replace(/\.[^.]*$/, ""));
  await (doc.tree ? open(doc) : open((await parse({ document: doc })).documents[0]));
  say(warnings.join("; ") || `opened ${file.name}`);
  return undefined;
}

// The first document of a file of ours, or nothing if it is a plain text.
async function readFile(file) {
  const format = file.name.split(".").at(-1).toLowerCase();
  if (!FORMATS.includes(format)) return [null, []];
  const { documents, warnings } = await askJson("/v1/convert", { content: await file.text(), from: format });
  const [doc, ...others] = documents;
  if (doc.id === "document") doc.id = file.name.replace(/\.[^.]*$/, "");
  if (others.length) warnings.push(`the file has ${documents.length} documents: this is the first`);
  return [doc, warnings];
}

function showStart() {
  find("start").hidden = false;
  find("cancel").hidden = !bench.doc;
  find("paste").focus();
}

// Asking again.

async function askAgain() {
  const { doc } = bench;
  if (!doc) throw new Error("open a text first");
  if (bench.other) throw new Error("leave the comparison first");
  say("");
  const given = { ...doc, constraints: demanded(doc, modelInUse()) };
  const { documents } = await parse({ document: given });
  if (bench.doc !== doc) return say("the tree was edited meanwhile: ask again", true);
  const [answer] = documents;
  const tree = restored(doc, answer.tree);
  const changed = changes(doc.tree, tree);
  await step(
    { ...doc, ...answer, id: doc.id, metadata: doc.metadata, tree, constraints: doc.constraints },
    { changed, select: stillThere(tree) },
  );
  return say(["nothing has changed", "one unit has changed"][changed.length] ?? `${changed.length} units have changed`);
}

function stillThere(tree) {
  return places(tree).some((one) => bench.selected && isAt(one, bench.selected)) ? bench.selected : null;
}

// Uncertainty.

function nextUncertain() {
  const open = places(bench.doc.tree).filter(
    (one) => one.node.probability !== undefined && !isFrozen(bench.doc, rangeOf(one)),
  );
  if (!open.length) throw new Error("no unit is left that the parser was unsure of");
  open.sort((left, right) => left.node.probability - right.node.probability || left.start - right.start);
  const next = (open.findIndex((one) => bench.selected && isAt(one, bench.selected)) + 1) % open.length;
  const { start, stop, node } = open[next];
  select(nodeAt([start, stop]));
  goTo(nodeAt([start, stop]));
  const { relation, nuclearity, probability } = node;
  say(`${next + 1} of ${open.length}: ${relation} ${nuclearity}, p ${probability.toFixed(2)}`);
}

function switchColours() {
  bench.colours = bench.colours === "relation" ? "certainty" : "relation";
  find("colours").setAttribute("aria-pressed", String(bench.colours === "certainty"));
  remember();
  return draw();
}

// Comparing.

function showCompare() {
  if (!bench.doc) throw new Error("open a text first");
  if (bench.other) return endCompare();
  find("against").hidden = false;
  find("against-first").focus();
  return undefined;
}

function compareWith(other) {
  find("against").hidden = true;
  bench.other = other;
  find("compare").textContent = "End comparison";
  return attempt(() => draw({ isNew: true })).then(() => bench.other && say("left: this tree; right: the other one"));
}

function endCompare() {
  find("against").hidden = true;
  bench.other = null;
  find("compare").textContent = "Compare…";
  return draw({ isNew: true });
}

// Exporting.

async function exportAs(format) {
  if (!bench.doc) throw new Error("open a text first");
  const name = `${bench.doc.id.replace(/[^\p{L}\p{N}._-]+/gu, "-") || "tree"}.${format}`;
  download(await exported(format), name);
  say(`${name} is in your downloads`);
}

async function exported(format) {
  if (format === "json") return new Blob([`${JSON.stringify(bench.doc, null, 1)}\n`], { type: "application/json" });
  if (format === "svg" || format === "png") {
    return (await ask("/v1/render", { document: bench.doc, format, style: bench.style })).blob();
  }
  const { content, warnings } = await askJson("/v1/convert", { documents: [bench.doc], to: format });
  if (warnings.length) say(warnings.join("; "));
  return new Blob([content], { type: "text/plain" });
}

function download(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// Local files, if `genrst annotate` has opened this page.

async function listFiles() {
  const menu = find("files");
  if (!("local" in menu.dataset)) return [];
  const found = await askJson("/v1/files");
  menu.replaceChildren(new Option("Files…", ""));
  for (const { number, name, certainty, is_saved: isSaved } of found.files) {
    const facts = [certainty === null ? null : `p ${certainty.toFixed(2)}`, isSaved ? "saved" : null].filter(Boolean);
    menu.add(new Option(facts.length ? `${name} (${facts.join(", ")})` : name, number));
  }
  menu.value = bench.file ?? "";
  menu.hidden = find("store").hidden = false;
  await refreshFolder();
  return found.files;
}

async function openLocal(number) {
  const { document: doc, name, warnings, version } = await askJson(`/v1/files/${number}`);
  await open(doc, { file: number, name, version });
  find("files").value = number;
  showFolder();
  say(warnings.join("; ") || `opened ${name}`);
}

async function storeLocal(force = false) {
  if (bench.file === null) throw new Error("this document is from no file: export it");
  try {
    const body = { document: bench.doc, version: bench.version, force };
    const { name, backup, warnings, version } = await askJson(`/v1/files/${bench.file}`, body, "PUT");
    Object.assign(bench, { name, version });
    remember();
    say([`saved to ${name}`, backup ? `what was there is in ${backup}` : null, ...warnings].filter(Boolean).join("; "));
  } catch (error) {
    if (error.status !== 409 || !confirm(`${error.message}. Save anyway?`)) throw error;
    await storeLocal(true);
    return;
  }
  await listFiles();
}

// Selecting: what has the focus in the tree or in the text.

clicksFold = false;

function select(node) {
  if (!node || bench.other || choosing) return;
  bench.selected = [node.start, node.stop];
  showPanel();
}

document.addEventListener("focusin", (event) => select(nodeOf(event.target) ?? leafOf(event.target)));
pane.addEventListener("dblclick", (event) => {
  const node = nodeOf(event.target);
  if (node && !choosing) toggle(node);
});
// Before the page's own answer to a click: the node that is clicked is not the selected one, but what it belongs to.
document.addEventListener(
  "click",
  (event) => {
    const node = choosing && (nodeOf(event.target) ?? leafOf(event.target));
    if (!node) return;
    event.stopPropagation();
    choose(node);
  },
  true,
);
document.addEventListener(
  "keydown",
  (event) => {
    if (!choosing) return;
    if (event.key === "Escape") {
      stopChoosing();
      say("left as it was");
    } else if (event.key === "Enter" && nodeOf(event.target)) choose(nodeOf(event.target));
    else return;
    event.stopPropagation();
    event.preventDefault();
  },
  true,
);

// Keys and buttons.

Object.assign(COMMANDS, {
  o: showStart,
  a: askAgain,
  u: nextUncertain,
  p: switchColours,
  d: showCompare,
  w: () => storeLocal(),
  z: freeze,
  Z: freezeAll,
  x: dissolve,
  k: alternatives,
  r: chooseTarget,
  j: join,
  n: turn,
  e: mergeEdus,
  l: () => find("relation-0")?.focus(),
  "[": () => step(moveStart(bench.doc, selectedRange()[0], -1)),
  "]": () => step(moveStart(bench.doc, selectedRange()[0], 1)),
  c: () => {
    bench.style = bench.style === "compact" ? "classic" : "compact";
    remember();
    zoom = 1;
    return draw({ isNew: true });
  },
});
for (const [key, command] of Object.entries(COMMANDS)) COMMANDS[key] = () => attempt(command);
const CLICKS = { new: "o", ask: "a", uncertain: "u", colours: "p", compare: "d", store: "w" };
for (const [id, key] of Object.entries(CLICKS)) find(id).addEventListener("click", () => COMMANDS[key]());
find("style").addEventListener("click", () => COMMANDS.c());
find("undo").addEventListener("click", () => attempt(undo));
find("redo").addEventListener("click", () => attempt(redo));
find("against-first").addEventListener("click", () => compareWith(bench.first));
find("against-close").addEventListener("click", endCompare);
find("share").addEventListener("input", summarise);
find("parse").addEventListener("click", () => attempt(() => openText(find("paste").value)));
find("cancel").addEventListener("click", () => (find("start").hidden = true));
find("model").addEventListener("change", (event) => (bench.model = event.target.value));
find("files").addEventListener(
  "change",
  (event) => event.target.value && attempt(() => openLocal(Number(event.target.value))),
);
find("export").addEventListener("change", (event) => {
  const format = event.target.value;
  event.target.value = "";
  if (format) attempt(() => exportAs(format));
});

function onFile(id, use) {
  find(id).addEventListener("change", (event) => {
    const [file] = event.target.files;
    if (file) attempt(() => use(file)).then(() => (event.target.value = ""));
  });
}
onFile("file", openFile);
onFile("against-file", async (file) => {
  const [doc] = await readFile(file);
  if (!doc?.tree) throw new Error("the file must have a tree");
  return compareWith(doc);
});

document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.target.closest("input, textarea")) return;
  const key = event.key.toLowerCase();
  if (key === "z" && !event.shiftKey) attempt(undo);
  else if (key === "y" || key === "z") attempt(redo);
  else return;
  event.preventDefault();
});

document.addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("dropping");
});
document.addEventListener("dragleave", () => document.body.classList.remove("dropping"));
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  const [file] = event.dataTransfer.files;
  const text = event.dataTransfer.getData("text/plain");
  if (file) attempt(() => openFile(file));
  else if (text) attempt(() => openText(text));
});

find("key").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("genrst-key", find("key-value").value);
  find("key").hidden = true;
  attempt(setUp);
});

for (const [keys, meaning] of [
  ["click, arrow keys", "select a unit or an EDU"],
  ["n, l", "nuclearity; relation"],
  ["r, j, x", "attach to; join with next; split the unit"],
  ["[ ], e", "move an EDU's start; join EDUs"],
  ["z, Z", "freeze the unit; with all inside"],
  ["a", "ask again"],
  ["u, k, p", "least certain; alternatives; certainty colours"],
  ["d, o, w", "compare; open; save to file"],
  ["Ctrl Z, Ctrl Y", "undo, redo"],
]) {
  document.querySelector("details dl").append(make("dt", {}, keys), make("dd", {}, meaning));
}

// The address may bring the key along, as that of `genrst annotate` does; it is not left there.
function takeKey() {
  const [name, key] = location.hash.slice(1).split("=");
  if (name !== "key") return;
  sessionStorage.setItem("genrst-key", key);
  history.replaceState(null, "", "/");
}

// Setting up: the models, what was worked on before, and local files.

async function setUp() {
  takeKey();
  const { models } = await askJson("/v1/models");
  bench.models = models;
  bench.model = models[0].name;
  find("model").replaceChildren(...models.map((one) => new Option(one.name, one.name)));
  find("model").parentElement.hidden = models.length < 2;
  const files = await listFiles();
  if (hasFolder()) {
    await startFolder();
    if (isPairs()) return undefined;
  }
  const before = recall();
  const isSame = (one) => one.number === before.file && one.name === before.name;
  if (before?.doc && (before.file === null ? !files.length : files.some(isSame))) {
    Object.assign(bench, { style: before.style, colours: before.colours });
    if (models.some((one) => one.name === before.model)) bench.model = find("model").value = before.model;
    find("colours").setAttribute("aria-pressed", String(bench.colours === "certainty"));
    await open(before.doc, before);
    say("your work as you left it");
  } else if (files.length) await openLocal(files[0].number);
  else find("paste").focus();
  return showFolder();
}

attempt(setUp);
