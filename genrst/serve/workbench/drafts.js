// Unsaved work. Every step is stored at once: in this browser and, if the document is a local file, in a draft beside
// the file. Each draft has an id, and the tab that works on it holds a lock with that id, so that other tabs can tell
// whether a draft is in use or was left behind by a tab that was closed or crashed.

const DRAFT = "genrst-draft:";
const OPEN = "genrst-open"; // the id of this tab's draft
const SETTINGS = "genrst-settings";
const MOST_KEPT = 20; // steps that survive a reload
const PATIENCE = 500; // milliseconds to wait for the lock of a page that is being closed

function isDirty() {
  return bench.doc !== bench.saved;
}

// Locks.

const held = new Map(); // functions that release a lock, by draft id

// Try to lock a draft for this tab. Where the Web Locks API is missing, as on plain HTTP, this always succeeds.
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

// Called when another document is opened: keep the draft only if it has unsaved changes.
function leaveDraft() {
  const { draft } = bench;
  if (draft === null) return;
  if (!isDirty()) localStorage.removeItem(DRAFT + draft);
  held.get(draft)?.();
  held.delete(draft);
  bench.draft = null;
}

// Storing.

let isOnDisk = false; // whether the open draft is also stored beside its file

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

// Storage may be too small for a long document with its history; then less history is stored.
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
      if (!done) return say("browser storage is full; save the document before you leave", true);
      localStorage.removeItem(DRAFT + done.id);
    }
  }
}

// Store a document as its differences from another one.
function slim(doc, other) {
  const shared = Object.keys(doc).filter((key) => doc[key] === other[key]);
  const own = Object.fromEntries(Object.entries(doc).filter(([key]) => !shared.includes(key)));
  return { shared, own };
}

function whole({ shared, own }, other) {
  return { ...Object.fromEntries(shared.map((key) => [key, other[key]])), ...own };
}

// The last unsent request for each draft. Requests are sent one after the other, and retried if the service does not
// respond.
const unsent = new Map();
let sending = null;

function send(path, method, body = {}) {
  unsent.delete(path); // moves it to the end
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
      const isRefused = error.status && error.status !== 401; // 401: a restarted service has a new key
      if (!isRefused) await new Promise((resolve) => setTimeout(resolve, 1000));
      else if (unsent.get(path) === request) unsent.delete(path);
    }
    showKept();
  }
  sending = null;
}

let trouble = "";

// Show whether there are unsaved changes.
function showKept() {
  const dirty = isDirty();
  const where = bench.file === null ? "in this browser" : trouble ? "in this browser only" : "beside the file";
  const state = dirty ? `unsaved; draft stored ${where}` : bench.file === null ? "" : "saved";
  find("kept").textContent = dirty && unsent.size && !trouble ? "unsaved" : state;
  find("kept").title = trouble;
  find("store").classList.toggle("dirty", dirty);
  document.title = `${dirty ? "• " : ""}${bench.name ?? bench.doc.id}`;
}

window.addEventListener("beforeunload", (event) => {
  if (bench.doc && isDirty()) event.preventDefault();
});

// Finding stored drafts.

function keptAs(id) {
  try {
    return JSON.parse(localStorage.getItem(DRAFT + id));
  } catch {
    return null;
  }
}

// All drafts in this browser, newest first.
function kepts() {
  const ids = Object.keys(localStorage).filter((key) => key.startsWith(DRAFT));
  const found = ids.map((key) => keptAs(key.slice(DRAFT.length))).filter((one) => one?.doc);
  return found.sort((one, other) => other.time - one.time);
}

// Lock and return the first of these drafts that is not open in another tab, and the drafts before it, which are.
async function takeDraft(drafts) {
  const mine = sessionStorage.getItem(OPEN);
  const busy = [];
  for (const one of drafts) {
    if (await claim(one.id, one.id === mine ? PATIENCE : 0)) return { draft: one, busy };
    busy.push(one);
  }
  return { draft: null, busy };
}

// Open a draft stored in this browser.
async function reopen(kept, others = {}) {
  const { doc, file, name, version, id } = kept;
  const past = kept.past.map((one) => whole(one, doc));
  const first = kept.first && whole(kept.first, doc);
  await open(doc, { file, name, version, past, first, saved: kept.isDirty ? null : doc, draft: id, ...others });
}

function greet(time) {
  say("restored your last session");
  if (!isDirty()) return;
  const when = new Date(time).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  notice(`Restored your unsaved changes from ${when}.`, [
    ["Continue", () => closeNotice()],
    ["Discard changes", discard],
  ]);
}

// Discard unsaved changes, and return to the file or to the document as it was opened.
async function discard() {
  const answers = { discard: "Discard changes", stay: "Keep changes" };
  if ((await question("Discard all unsaved changes? This cannot be undone.", answers)) !== "discard") return;
  bench.saved = bench.doc;
  keepDraft();
  await sending;
  if (bench.file === null) await open(bench.first);
  else await openLocal(bench.file);
  say("discarded");
}

// Called before another document replaces this one.
async function mayLeave() {
  if (!bench.doc || !isDirty()) return true;
  const answers = { save: "Save and continue", keep: "Continue and keep the draft", stay: "Cancel" };
  const answer = await question(`${bench.name ?? bench.doc.id} has unsaved changes.`, answers);
  if (answer === "save") await store();
  return answer === "keep" || (answer === "save" && !isDirty());
}
