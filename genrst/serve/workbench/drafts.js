// Unsaved work. Every step is kept at once: in this browser and, if the document is a local file, in a draft beside the
// file. A draft has a number, and the tab that works on it holds a lock of that number: so another tab can see whether a
// draft is being worked on, or was left by a tab that was closed or crashed.

const DRAFT = "genrst-draft:";
const OPEN = "genrst-open"; // the number of the draft of this tab
const SETTINGS = "genrst-settings";
const MOST_KEPT = 20; // steps that survive a reload
const PATIENCE = 500; // milliseconds that the lock of a page that is just going away may take

function isDirty() {
  return bench.doc !== bench.saved;
}

// Locks.

const held = new Map(); // by the numbers of drafts

// Whether this tab could take a draft, which it then holds. Without locks, as on plain HTTP, there is no other tab.
function claim(id, patience = 0) {
  if (held.has(id) || !navigator.locks) return Promise.resolve(true);
  const options = patience ? { signal: AbortSignal.timeout(patience) } : { ifAvailable: true };
  return new Promise((resolve) => {
    const hold = (lock) => {
      resolve(Boolean(lock));
      return lock && new Promise((release) => held.set(id, release));
    };
    navigator.locks.request(`${DRAFT}${id}`, options, hold).catch(() => resolve(false));
  });
}

async function newDraft() {
  const id = String(crypto.getRandomValues(new Uint32Array(1))[0]);
  await claim(id);
  return id;
}

// Another document is opened: what is unsaved stays, what is not need not.
function leaveDraft() {
  const { draft } = bench;
  if (draft === null) return;
  if (!isDirty()) localStorage.removeItem(DRAFT + draft);
  held.get(draft)?.();
  held.delete(draft);
  bench.draft = null;
}

// Keeping.

let isOnDisk = false; // whether the draft that is open is beside its file, too

function keepDraft() {
  sessionStorage.setItem(OPEN, bench.draft);
  localStorage.setItem(SETTINGS, JSON.stringify({ model: bench.model, style: bench.style, colours: bench.colours }));
  const time = Date.now();
  keepHere(time);
  if (bench.file !== null) {
    const path = `/v1/files/${bench.file}/drafts/${bench.draft}`;
    const { doc, version } = bench;
    if (isDirty()) send(path, "PUT", { document: doc, version, time });
    else if (isOnDisk || unsent.has(path) || sending) send(path, "DELETE");
    isOnDisk = isDirty();
  }
  showKept();
}

// Long documents may not fit with their past: then less of it is kept.
function keepHere(time) {
  const { doc, first, file, name, version, draft } = bench;
  const kept = { id: draft, time, doc, file, name, version, isDirty: isDirty(), first: slim(first, doc) };
  for (let steps = MOST_KEPT; ; steps = Math.floor(steps / 2)) {
    kept.past = steps ? bench.past.slice(-steps).map((one) => slim(one, doc)) : [];
    try {
      localStorage.setItem(DRAFT + draft, JSON.stringify(kept));
      return;
    } catch {
      if (steps) continue;
      const [done] = kepts().filter((one) => !one.isDirty && one.id !== draft);
      if (!done) return say("this browser has no room to keep the document: save it before you leave", true);
      localStorage.removeItem(DRAFT + done.id);
    }
  }
}

// A document without what it shares with another one, and with the names of that.
function slim(doc, other) {
  const shared = Object.keys(doc).filter((key) => doc[key] === other[key]);
  const own = Object.fromEntries(Object.entries(doc).filter(([key]) => !shared.includes(key)));
  return { shared, own };
}

function whole({ shared, own }, other) {
  return { ...Object.fromEntries(shared.map((key) => [key, other[key]])), ...own };
}

// What is not sent yet: the last request for each draft. They are sent one after the other, again and again if the
// service does not answer.
const unsent = new Map();
let sending = null;

function send(path, method, body = {}) {
  unsent.delete(path); // so that it comes last
  unsent.set(path, { method, body });
  sending ??= sendAll();
  return sending;
}

async function sendAll() {
  while (unsent.size) {
    const [path, request] = unsent.entries().next().value;
    try {
      await ask(path, request.body, request.method);
      if (unsent.get(path) === request) unsent.delete(path);
      trouble = "";
    } catch (error) {
      trouble = error.message;
      const isRefused = error.status && error.status !== 401; // 401: a service that was started again has another key
      if (!isRefused) await new Promise((resolve) => setTimeout(resolve, 1000));
      else if (unsent.get(path) === request) unsent.delete(path);
    }
    showKept();
  }
  sending = null;
}

let trouble = "";

// The mark of unsaved changes.
function showKept() {
  const dirty = isDirty();
  const where = bench.file === null ? "in this browser" : trouble ? "in this browser only" : "beside the file";
  const state = dirty ? `unsaved; a draft is kept ${where}` : bench.file === null ? "" : "saved";
  find("kept").textContent = dirty && unsent.size && !trouble ? "unsaved" : state;
  find("kept").title = trouble;
  find("store").classList.toggle("dirty", dirty);
  document.title = `${dirty ? "• " : ""}${bench.name ?? bench.doc.id}`;
}

window.addEventListener("beforeunload", (event) => {
  if (bench.doc && isDirty()) event.preventDefault();
});

// Finding what was kept.

function keptAs(id) {
  try {
    return JSON.parse(localStorage.getItem(DRAFT + id));
  } catch {
    return null;
  }
}

// All that this browser has, the newest first.
function kepts() {
  const ids = Object.keys(localStorage).filter((key) => key.startsWith(DRAFT));
  const found = ids.map((key) => keptAs(key.slice(DRAFT.length))).filter((one) => one?.doc);
  return found.sort((one, other) => other.time - one.time);
}

// The first of these drafts that no other tab works on; this tab has it from now on. Also how many others there are.
async function takeDraft(drafts) {
  const mine = sessionStorage.getItem(OPEN);
  const busy = [];
  for (const one of drafts) {
    if (await claim(one.id, one.id === mine ? PATIENCE : 0)) return { draft: one, busy };
    busy.push(one);
  }
  return { draft: null, busy };
}

// Open what was kept in this browser.
async function reopen(kept, others = {}) {
  const { doc, file, name, version, id } = kept;
  const past = kept.past.map((one) => whole(one, doc));
  const first = kept.first && whole(kept.first, doc);
  await open(doc, { file, name, version, past, first, saved: kept.isDirty ? null : doc, draft: id, ...others });
}

function greet(time) {
  say("your work as you left it");
  if (!isDirty()) return;
  const when = new Date(time).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  notice(`These are your unsaved changes of ${when}.`, [
    ["Go on", () => closeNotice()],
    ["Discard them", discard],
  ]);
}

// Give up the unsaved changes: back to the file, or to the document as it came.
async function discard() {
  const answers = { discard: "Discard them", stay: "Keep them" };
  if ((await question("Discard all changes that are not saved? This cannot be undone.", answers)) !== "discard") return;
  bench.saved = bench.doc;
  keepDraft();
  await sending;
  if (bench.file === null) await open(bench.first);
  else await openLocal(bench.file);
  say("discarded");
}

// Before another document takes the place of this one.
async function mayLeave() {
  if (!bench.doc || !isDirty()) return true;
  const answers = { save: "Save, and go on", keep: "Go on, and keep the draft", stay: "Stay here" };
  const answer = await question(`${bench.name ?? bench.doc.id} has changes that are not saved.`, answers);
  if (answer === "save") await store();
  return answer === "keep" || (answer === "save" && !isDirty());
}
