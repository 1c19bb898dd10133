// Comments and flags on units. They are stored in the document's metadata, as a JSON list of {edus, text, flag}.

function notesOf(doc) {
  try {
    const found = JSON.parse(doc.metadata?.notes ?? "[]");
    return found.filter((one) => Array.isArray(one.edus) && (one.text || one.flag));
  } catch {
    return [];
  }
}

function withNotes(doc, notes) {
  const { notes: _, ...others } = doc.metadata ?? {};
  const left = notes.filter((one) => one.text || one.flag).sort((one, other) => one.edus[0] - other.edus[0]);
  return { ...doc, metadata: left.length ? { ...others, notes: JSON.stringify(left) } : others };
}

function noteAt(doc, range) {
  return notesOf(doc).find((one) => String(one.edus) === String(range)) ?? { edus: range };
}

function noted(doc, range, change) {
  const others = notesOf(doc).filter((one) => String(one.edus) !== String(range));
  return withNotes(doc, [...others, { ...noteAt(doc, range), ...change }]);
}

// The notes of each drawn node. If its unit is gone, a note is shown at the smallest unit that covers its EDUs.
function shownNotes(doc) {
  const found = new Map();
  const nodes = places(doc.tree);
  for (const note of notesOf(doc)) {
    const [start, stop] = note.edus;
    const holding = nodes.filter((one) => one.start <= start && stop <= one.stop).at(-1);
    if (!holding) continue;
    const name = rangeOf(holding).join("-");
    found.set(name, [...(found.get(name) ?? []), note]);
  }
  return found;
}

function noteText({ flag, text }) {
  return [flag && "⚑ flagged", text].filter(Boolean).join(": ");
}

// Commands.

function flag() {
  const range = selectedRange();
  const isOn = !noteAt(bench.doc, range).flag;
  say(isOn ? "flagged" : "no longer flagged");
  return step(noted(bench.doc, range, { flag: isOn || undefined }), { changed: bench.changed });
}

async function comment() {
  const range = selectedRange();
  const field = make("textarea", { rows: "4", "aria-label": "Comment", id: "comment-text", dir: "auto" });
  field.value = noteAt(bench.doc, range).text ?? "";
  const answers = { keep: "Save", leave: "Cancel" };
  const title = `Comment on EDU${range[1] - range[0] > 1 ? "s" : ""} ${rangeName(range)}`;
  if ((await question(title, answers, field)) !== "keep") return;
  const text = field.value.trim();
  say(text ? "comment saved" : "comment removed");
  await step(noted(bench.doc, range, { text: text || undefined }), { changed: bench.changed });
}

function nextNote() {
  const shown = [...shownNotes(bench.doc).keys()].map((name) => name.split("-").map(Number));
  if (!shown.length) throw new Error("there are no comments or flags");
  shown.sort((one, other) => one[0] - other[0] || other[1] - one[1]);
  const at = shown.findIndex((range) => String(range) === String(bench.selected));
  const next = shown[(at + 1) % shown.length];
  goTo(nodeAt(next));
  const text = shownNotes(bench.doc).get(next.join("-")).map(noteText).join("; ");
  say(`${shown.indexOf(next) + 1} of ${shown.length}: ${text}`);
}
