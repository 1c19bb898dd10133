// Edits of the EDUs of a document, like those in `edits.js`: split, join and move EDUs, and renumber everything that
// refers to EDUs.

// Offsets count code points, as in Python; JavaScript strings count UTF-16 code units.
function characters(doc) {
  if (characters.text !== doc.text) [characters.text, characters.found] = [doc.text, [...doc.text]];
  return characters.found;
}

// The words of an EDU, by their start and end in the text of the document.
function words(doc, edu) {
  if (doc.text === null) return [];
  const found = [];
  const { start, end } = doc.edus[edu];
  characters(doc)
    .slice(start, end)
    .forEach((character, index) => {
      if (/\s/.test(character)) return;
      const at = start + index;
      if (found.at(-1)?.end === at) found.at(-1).end = at + 1;
      else found.push({ start: at, end: at + 1 });
    });
  return found;
}

// Split an EDU before a word.
function splitEdu(doc, edu, word) {
  const parts = words(doc, edu);
  if (!(word > 0 && word < parts.length)) throw new Error("an EDU can be split only before its second or a later word");
  const { end } = doc.edus[edu];
  const halves = [
    { ...doc.edus[edu], end: parts[word - 1].end },
    { ...doc.edus[edu], start: parts[word].start, end },
  ];
  const unit = { relation: "elaboration", nuclearity: "NS", children: [{ edu }, { edu: edu + 1 }] };
  const later = (number) => (number > edu ? number + 1 : number);
  const tree = mapped(doc.tree, (leaf) => (leaf === edu ? unit : { edu: later(leaf) }));
  const edus = [...doc.edus.slice(0, edu), ...halves, ...doc.edus.slice(edu + 1)];
  return renumbered({ ...doc, edus, tree }, ([start, stop]) => [later(start), later(stop)]);
}

// Join an EDU with the next one.
function joinEdus(doc, edu) {
  if (edu + 1 >= doc.edus.length) throw new Error("there is no next EDU");
  if (doc.edus.length === 2) throw new Error("a tree needs at least two EDUs");
  const whole = { ...doc.edus[edu], end: doc.edus[edu + 1].end };
  const earlier = (number) => (number > edu ? number - 1 : number);
  const rest = removed(placeAt(doc.tree, [edu + 1, edu + 2]));
  const tree = mapped(rest, (leaf) => ({ edu: earlier(leaf) }));
  const edus = [...doc.edus.slice(0, edu), whole, ...doc.edus.slice(edu + 2)];
  return renumbered({ ...doc, edus, tree }, ([start, stop]) => [
    earlier(start),
    Math.max(earlier(start) + 1, earlier(stop)),
  ]);
}

// Move the start of an EDU, and the end of the previous one, by one word: 1 or -1.
function moveStart(doc, edu, step) {
  if (edu === 0) throw new Error("the start of the first EDU cannot move");
  const [before, own] = [words(doc, edu - 1), words(doc, edu)];
  const [giver, name] = step > 0 ? [own, edu + 1] : [before, edu];
  if (giver.length < 2) throw new Error(`EDU ${name} must keep at least one word`);
  const [end, start] = step > 0 ? [own[0].end, own[1].start] : [before.at(-2).end, before.at(-1).start];
  const edus = doc.edus.with(edu - 1, { ...doc.edus[edu - 1], end }).with(edu, { ...doc.edus[edu], start });
  return { ...doc, edus };
}

function mapped(node, onLeaf) {
  return node.children ? { ...node, children: node.children.map((one) => mapped(one, onLeaf)) } : onLeaf(node.edu);
}

function renumbered(doc, move) {
  const next = pruned({
    ...doc,
    constraints: (doc.constraints ?? []).map((one) => ({ ...one, edus: move(one.edus) })),
    signals: doc.signals?.map((one) => ({
      ...one,
      unit: move(one.unit),
      ...(one.target && { target: move(one.target) }),
    })),
    secondary_edges: doc.secondary_edges?.map((one) => ({
      ...one,
      source: move(one.source),
      target: move(one.target),
    })),
  });
  const notes = notesOf(doc);
  return notes.length ? withNotes(next, notes.map((one) => ({ ...one, edus: move(one.edus) }))) : next;
}
