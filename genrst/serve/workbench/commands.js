// Event handlers for clicks, keys and dropped files, and setting up the bench.

// Opening.

const FORMATS = ["rs3", "rs4", "dis", "json", "jsonl", "edus"];

async function openText(text, id = "text") {
  if (!text.trim()) throw new Error("paste a text first");
  if (!(await mayLeave())) return;
  const { documents, warnings } = await parse({ text, id });
  await open(documents[0]);
  find("files").value = "";
  say(warnings.join("; ") || `parsed: ${documents[0].edus.length} EDUs`);
}

async function openFile(file) {
  const [doc, warnings] = await readFile(file);
  if (!doc) return openText(await file.text(), file.name.replace(/\.[^.]*$/, ""));
  if (!(await mayLeave())) return undefined;
  await open(asItComes(doc.tree ? doc : (await parse({ document: doc })).documents[0]));
  find("files").value = "";
  say(warnings.join("; ") || `opened ${file.name}`);
  return undefined;
}

// Return the first document of a file in one of our formats, or null if it is plain text.
async function readFile(file) {
  const format = file.name.split(".").at(-1).toLowerCase();
  if (!FORMATS.includes(format)) return [null, []];
  const { documents, warnings } = await askJson("/v1/convert", { content: await file.text(), from: format });
  const [doc, ...others] = documents;
  if (doc.id === "document") doc.id = file.name.replace(/\.[^.]*$/, "");
  if (others.length) warnings.push(`the file has ${documents.length} documents; only the first is shown`);
  return [doc, warnings];
}

function showStart() {
  find("start").hidden = false;
  find("cancel").hidden = !bench.doc;
  const left = kepts().filter((one) => one.isDirty && one.file === null && one.id !== bench.draft);
  const row = ({ id, doc, time }) => button(`${doc.id}, ${new Date(time).toLocaleString()}`, "Open draft", () => goOn(id));
  find("drafts").replaceChildren(...(left.length ? ["Drafts in this browser: ", ...left.slice(0, 8).map(row)] : []));
  find("paste").focus();
}

async function goOn(id) {
  const { draft } = await takeDraft([keptAs(id)]);
  if (!draft) throw new Error("this draft is open in another tab");
  if (!(await mayLeave())) return;
  await reopen(draft);
  greet(draft.time);
}

// Uncertainty.

let lastUncertain = null; // the unit that the last step went to

function nextUncertain() {
  const open = places(bench.doc.tree).filter(
    (one) => one.node.probability !== undefined && !isFrozen(bench.doc, rangeOf(one)),
  );
  if (!open.length) throw new Error("no uncertain units are left");
  open.sort((left, right) => left.node.probability - right.node.probability || left.start - right.start);
  const isLast = (one) => isAt(one, lastUncertain ?? []) && String(lastUncertain) === String(bench.selected);
  const next = (open.findIndex(isLast) + 1) % open.length;
  const { start, stop, node } = open[next];
  lastUncertain = [start, stop];
  select(nodeAt([start, stop]));
  goTo(nodeAt([start, stop]));
  const { relation, nuclearity, probability } = node;
  say(`${next + 1} of ${open.length}: ${relation} ${nuclearity}, p ${probability.toFixed(2)}`);
}

function switchColours() {
  bench.colours = bench.colours === "relation" ? "certainty" : "relation";
  find("colours").setAttribute("aria-pressed", String(bench.colours === "certainty"));
  keepDraft();
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

async function compareWith(other) {
  find("against").hidden = true;
  closeChoices();
  bench.other = other;
  find("compare").textContent = "End comparison";
  try {
    await draw({ isNew: true });
    highlight(null); // otherwise the whole text could be highlighted
    say("left: this tree; right: the other tree");
  } catch (error) {
    await endCompare();
    throw error;
  }
}

function endCompare() {
  find("against").hidden = true;
  bench.other = null;
  find("compare").textContent = "Compare…";
  return draw({ isNew: true });
}

// Selecting: the selection follows the focus in the tree or in the text.

clicksFold = false;

function select(node) {
  if (!node || bench.other || bench.preview || choosing) return;
  bench.selected = [node.start, node.stop];
  showPanel();
}

document.addEventListener("focusin", (event) => select(nodeOf(event.target) ?? leafOf(event.target)));
pane.addEventListener("dblclick", (event) => {
  const node = nodeOf(event.target);
  if (node && !choosing) toggle(node);
});

// Keys and buttons.

Object.assign(COMMANDS, {
  o: showStart,
  s: () => store(),
  a: askAgain,
  u: nextUncertain,
  p: switchColours,
  d: showCompare,
  z: freeze,
  Z: freezeAll,
  x: dissolve,
  k: alternatives,
  r: startChoosing,
  j: join,
  n: turn,
  e: mergeEdus,
  l: () => choosePalette(),
  m: comment,
  g: flag,
  G: nextNote,
  "[": () => moveEdu(-1),
  "]": () => moveEdu(1),
  "?": () => {
    keys.open = !keys.open;
    (keys.open ? keys.querySelector("summary") : document.activeElement).focus();
  },
  c: () => {
    bench.style = bench.style === "compact" ? "classic" : "compact";
    keepDraft();
    zoom = 1;
    return draw({ isNew: true });
  },
});
for (const [key, command] of Object.entries(COMMANDS)) COMMANDS[key] = () => attempt(command);
const CLICKS = { new: "o", ask: "a", uncertain: "u", colours: "p", compare: "d", store: "s", style: "c" };
for (const [id, key] of Object.entries(CLICKS)) find(id).addEventListener("click", () => COMMANDS[key]());
find("undo").addEventListener("click", () => attempt(undo));
find("redo").addEventListener("click", () => attempt(redo));
find("against-first").addEventListener("click", () => attempt(() => compareWith(bench.first)));
find("against-close").addEventListener("click", () => attempt(endCompare));
find("share").addEventListener("input", summarise);
find("parse").addEventListener("click", () => attempt(() => openText(find("paste").value)));
find("cancel").addEventListener("click", () => (find("start").hidden = true));
find("model").addEventListener("change", (event) => (bench.model = event.target.value));
find("files").addEventListener("change", (event) => event.target.value && attempt(() => chooseLocal(event.target.value)));
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
  if (!doc?.tree) throw new Error("the file has no tree");
  return compareWith(doc);
});

document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey)) return;
  const key = event.key.toLowerCase();
  const isTyping = event.target.closest("input, textarea");
  if (key === "s") COMMANDS.s();
  else if (key === "z" && !event.shiftKey && !isTyping) attempt(undo);
  else if ((key === "y" || key === "z") && !isTyping) attempt(redo);
  else return;
  event.preventDefault();
});

// Only one menu is open at a time; it closes when the user clicks elsewhere.

const menus = [...document.querySelectorAll("header details")];
const keys = menus.at(-1);
for (const menu of menus) {
  menu.addEventListener("toggle", () => menu.open && menus.forEach((one) => (one.open = one === menu)));
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    refocus(null);
  });
}
document.addEventListener("pointerdown", (event) => {
  const inside = event.target.closest("details");
  for (const menu of menus) menu.open &&= menu === inside;
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

const KEYS = [
  ["click, arrow keys", "select a unit or an EDU"],
  ["n, l", "nuclearity; relation"],
  ["r, j, x", "attach to; join with next; split the unit"],
  ["[ ], e", "move the start of an EDU; join EDUs"],
  ["z, Z", "freeze the unit; freeze all inside"],
  ["a, k", "re-parse; alternatives"],
  ["m, g, G", "comment; flag; go to the next one"],
  ["u, p", "least certain unit; colour by certainty"],
  ["d, o", "compare; open"],
  ["s, Ctrl S", "save"],
  ["Ctrl Z, Ctrl Y", "undo, redo"],
  ["?", "show this list"],
];

// The toolbar is a single row: view controls move into a menu, and facts into the status line at the bottom.
function arrange() {
  const [view, list] = [find("view"), keys.querySelector("dl")];
  find("save").textContent = "Current view";
  find("save").title = "Download the current view, with its folding, as SVG";
  const zooming = find("smaller").parentElement;
  view.prepend(find("levels").parentElement, zooming, find("style"), find("prose"));
  find("export").parentElement.after(find("save"));
  find("said").after(find("kept"), document.querySelector(".facts"));
  for (const term of list.querySelectorAll("dt")) {
    if (!term.textContent.includes("t, c, s")) continue;
    term.textContent = "t, c";
    term.nextElementSibling.textContent = "show or hide the text; classic or compact";
  }
  list.prepend(...KEYS.flatMap(([key, meaning]) => [make("dt", {}, key), make("dd", {}, meaning)]));
}

// The address can contain the key, as with `genrst annotate`; it is removed from the address bar. Other tabs with local
// files read it from local storage, because a restarted service has a new key.
function takeKey() {
  const [name, key] = location.hash.slice(1).split("=");
  if (name !== "key") return;
  sessionStorage.setItem("genrst-key", key);
  if ("local" in find("files").dataset) localStorage.setItem("genrst-key", key);
  history.replaceState(null, "", "/");
}

function takeOtherKey() {
  const key = localStorage.getItem("genrst-key");
  if (!key || key === sessionStorage.getItem("genrst-key")) return false;
  sessionStorage.setItem("genrst-key", key);
  return true;
}

// Setting up: the models, earlier work, and local files.

async function setUp() {
  takeKey();
  const { models } = await askJson("/v1/models");
  bench.models = models;
  bench.model = models[0].name;
  find("model").replaceChildren(...models.map((one) => new Option(one.name, one.name)));
  find("model").parentElement.hidden = models.length < 2;
  restoreSettings();
  const files = await listFiles();
  if (hasFolder() && (await startFolder())) return;
  const here = keptAs(sessionStorage.getItem(OPEN));
  if (files.length) {
    const has = (one) => one?.file && files.some((file) => file.key === one.file);
    const last = [here, ...kepts().filter((one) => one.isDirty)].find(has);
    await openLocal(last?.file ?? (files.find((one) => one.drafts) ?? files[0]).key);
    return;
  }
  const left = kepts().filter((one) => one.file === null && one.isDirty && one.id !== here?.id);
  const { draft } = await takeDraft([...(here?.doc && here.file === null ? [here] : []), ...left]);
  if (!draft) return showStart();
  await reopen(draft);
  greet(draft.time);
}

function restoreSettings() {
  const { model, style, colours } = JSON.parse(localStorage.getItem(SETTINGS) ?? "{}");
  if (style) Object.assign(bench, { style, colours });
  if (bench.models.some((one) => one.name === model)) bench.model = find("model").value = model;
  find("colours").setAttribute("aria-pressed", String(bench.colours === "certainty"));
}

arrange();
attempt(setUp);
