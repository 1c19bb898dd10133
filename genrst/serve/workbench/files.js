// Opening and saving documents: local files, if `genrst annotate` serves this page, and downloads.

async function listFiles() {
  const menu = find("files");
  if (!("local" in menu.dataset)) return [];
  const { files } = await askJson("/v1/files");
  menu.replaceChildren(new Option("Files…", ""));
  for (const { key, name, certainty, is_saved: isSaved, drafts } of files) {
    const state = [isSaved && "saved", drafts && "draft", certainty !== null && `p ${certainty.toFixed(2)}`];
    const facts = state.filter(Boolean).join(", ");
    menu.add(new Option(facts ? `${name} (${facts})` : name, key));
  }
  menu.value = bench.file ?? "";
  menu.hidden = false;
  await refreshFolder();
  return files;
}

async function chooseLocal(key) {
  if (await mayLeave()) await openLocal(key);
  find("files").value = bench.file ?? "";
}

// Open a local file, with its unsaved work.
async function openLocal(key) {
  const { document: data, name, warnings, version, modified, drafts } = await askJson(`/v1/files/${key}`);
  const file = { file: key, name, version };
  const doc = asItComes(data);
  const isSame = (one) => canonical(one) === canonical(doc);
  const { draft, busy } = await takeDraft(allDrafts(key, drafts, modified));
  if (!draft) await open(doc, file);
  else {
    const kept = draft.past ? draft : { ...draft, doc: draft.document, past: [] };
    if (isSame(kept.doc)) await reopen({ ...kept, doc }, { ...file, first: doc, saved: doc });
    else {
      await reopen(kept, { ...file, version: draft.version, first: doc, saved: null });
      greet(draft.time);
    }
  }
  find("files").value = key;
  showFolder();
  const others = busy.filter((one) => !isSame(one.document ?? one.doc));
  if (others.length) say(`${name} also has unsaved changes in another tab; both are kept`, true);
  else if (warnings.length || !draft) say(warnings.join("; ") || `opened ${name}`);
  const old = kepts().find((one) => isOlder(one, key, drafts, modified) && !isSame(one.doc));
  if (old && !draft) offerOlder(old, name);
}

// Whether a draft exists only in this browser and is older than the file. After a crash, the browser may not know that
// the work was saved, so such a draft is offered rather than opened.
function isOlder(kept, key, drafts, modified) {
  return kept.file === key && kept.isDirty && kept.time <= modified && !drafts.some((one) => one.id === kept.id);
}

function offerOlder(kept, name) {
  notice(`This browser has a draft from ${new Date(kept.time).toLocaleString()}, which is older than ${name}.`, [
    ["Open the draft", () => goOn(kept.id)],
    ["Delete the draft", () => closeNotice() ?? localStorage.removeItem(DRAFT + kept.id)],
  ]);
}

// The content of a document as saved, independent of the order of keys.
function canonical(doc) {
  const isFilled = ([, value]) => value !== null && (typeof value !== "object" || Object.keys(value).length);
  const sorted = (_, value) =>
    value && typeof value === "object" && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).filter(isFilled).sort(([one], [other]) => (one < other ? -1 : 1)))
      : value;
  return JSON.stringify(outgoing(doc), sorted);
}

// The drafts of a file, from beside it and from this browser: the newest state of each, newest first.
function allDrafts(key, drafts, modified) {
  const found = new Map(drafts.map((one) => [one.id, one]));
  for (const one of kepts()) {
    const isNewer = one.time >= (found.get(one.id)?.time ?? modified);
    if (one.file === key && one.isDirty && isNewer) found.set(one.id, one);
  }
  return [...found.values()].sort((one, other) => other.time - one.time);
}

// Saving.

async function store(force = false) {
  const { doc, file, version } = bench;
  if (!doc) throw new Error("open a text first");
  await endPreview();
  if (file === null) {
    await exportAs("json");
    bench.saved = doc;
    return keepDraft();
  }
  let saved;
  try {
    saved = await askJson(`/v1/files/${file}`, { document: outgoing(doc), version, force }, "PUT");
  } catch (error) {
    if (error.status !== 409) throw error;
    return conflict();
  }
  Object.assign(bench, { name: saved.name, version: saved.version, saved: doc });
  isOnDisk = true;
  keepDraft();
  closeNotice();
  const { name, backup, warnings } = saved;
  say([`saved to ${name}`, backup && `the previous version is in ${backup}`, ...warnings].filter(Boolean).join("; "));
  await listFiles();
  return undefined;
}

// The file has changed since it was opened. Both versions are shown, and both are kept, whatever the user chooses.
async function conflict() {
  const theirs = await askJson(`/v1/files/${bench.file}`).catch(() => null);
  const isShown = theirs && (await compareWith(asItComes(theirs.document)).then(() => true, () => false));
  const save = () => endCompare().then(() => store(true));
  notice(
    `${bench.name} has changed since you opened it. ${
      isShown ? "Left: your tree; right: the tree in the file." : theirs ? "Its text differs." : "It cannot be read."
    }`,
    [
      ["Save mine, keep a copy of theirs", save],
      ...(theirs ? [["Take theirs, keep a copy of mine", takeTheirs]] : []),
      ["Decide later", () => closeNotice() ?? (bench.other && endCompare())],
    ],
  );
}

async function takeTheirs() {
  const { file, version, doc } = bench;
  const { copy } = await askJson(`/v1/files/${file}`, { document: outgoing(doc), version, aside: true }, "PUT");
  await endCompare();
  bench.saved = doc;
  keepDraft();
  await sending;
  await openLocal(file);
  say(`your tree was saved to ${copy}`);
}

// Downloads.

async function exportAs(format) {
  if (!bench.doc) throw new Error("open a text first");
  const name = `${bench.doc.id.replace(/[^\p{L}\p{N}._-]+/gu, "-") || "tree"}.${format}`;
  const [blob, warnings] = await exported(format);
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  say([`downloaded ${name}`, ...warnings].join("; "));
}

async function exported(format) {
  const doc = outgoing(bench.doc);
  if (format === "json") return [new Blob([`${JSON.stringify(doc, null, 1)}\n`], { type: "application/json" }), []];
  if (format === "svg" || format === "png") {
    return [await (await ask("/v1/render", { document: doc, format, style: bench.style })).blob(), []];
  }
  const { content, warnings } = await askJson("/v1/convert", { documents: [doc], to: format });
  return [new Blob([content], { type: "text/plain" }), warnings];
}
