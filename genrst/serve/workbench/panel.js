// The panel: the tools for the selected node. It is rebuilt whenever something changes.

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (typeof value === "boolean") element.toggleAttribute(key, value);
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

function button(text, title, click, attributes = {}) {
  return make("button", { type: "button", title, click: () => attempt(click), ...attributes }, text);
}

function showPanel() {
  const panel = find("panel");
  const held = panel.contains(document.activeElement) ? document.activeElement.id : null;
  const place = bench.selected && !bench.other && places(bench.doc.tree).find((one) => isAt(one, bench.selected));
  panel.hidden = !place || Boolean(bench.preview);
  find("undo").disabled = !bench.past.length;
  find("redo").disabled = !bench.future.length;
  if (!place) return panel.replaceChildren();
  const tools = isUnit(place) ? unitTools(place) : eduTools(place);
  panel.replaceChildren(heading(place), ...tools, ...commonTools(place), ...whyTools(place));
  if (held) find(held)?.focus();
  return undefined;
}

function heading(place) {
  const { probability } = place.node;
  const what = isUnit(place) ? `EDUs ${rangeName(rangeOf(place))}` : `EDU ${rangeName(rangeOf(place))}`;
  const sure = probability === undefined ? "" : ` · p ${probability.toFixed(2)}`;
  const notes = shownNotes(bench.doc).get(rangeOf(place).join("-")) ?? [];
  const remarks = notes.map((one) => make("span", { class: "note", dir: "auto" }, noteText(one)));
  return make("h2", {}, what + sure, ...remarks);
}

// Tools for units: roles and relations.

function unitTools(place) {
  const { node } = place;
  const labels = labelsOf(node);
  const roles = [...node.nuclearity].map((letter, index) => roleButton(place, letter, index));
  const satellites = labels.flatMap((label, index) => (label === "span" ? [] : [index]));
  const menus = node.relations
    ? satellites.map((child) => relationButton(place, labels[child], child))
    : [relationButton(place, node.relation)];
  const isFixed = isFrozen(bench.doc, bench.selected);
  return [
    make("span", { class: "group", role: "group", "aria-label": "Nuclearity" }, ...roles),
    ...menus,
    button(isFixed ? "Unfreeze" : "Freeze", "Keep this unit when the text is parsed again (z)", freeze, {
      "aria-pressed": String(isFixed),
      id: "freeze",
    }),
    button("Freeze all inside", "Keep this unit and all units inside it (Z)", freezeAll, { id: "freeze-all" }),
    button("Split", "Move the parts of this unit to the unit above (x)", dissolve, {
      id: "dissolve",
      disabled: !place.parent,
    }),
    button("Alternatives", "Show other analyses of this unit by the parser (k)", alternatives, { id: "alternatives" }),
  ];
}

function relabel(label, range = bench.selected) {
  const doc = relabelled(bench.doc, range, label);
  const { node } = placeAt(doc.tree, range);
  say(`${rangeName(range)}: ${node.relation} ${node.nuclearity}${nuclearityHint(node)}`);
  return step(doc, { isLabel: true });
}

// What to do if the parser knows the relation, but not with this nuclearity.
function nuclearityHint({ relation, nuclearity, children }) {
  const { labels = [], fine = {}, known = labels } = modelInUse() ?? {};
  const own = known.filter((label) => label.relation === (fine[relation] ?? relation)).map((label) => label.nuclearity);
  if (children.length !== 2 || !own.length || own.includes(nuclearity)) return "";
  return `; the parser knows it only as ${own.join(", ")} (n changes it)`;
}

function roleButton(place, letter, index) {
  const name = `EDUs ${rangeName(rangeOf(partsOf(place)[index]))}: ${letter === "N" ? "nucleus" : "satellite"}`;
  // A unit needs a nucleus: when the last one becomes a satellite, the other children become nuclei.
  const flip = () => {
    const letters = [...place.node.nuclearity].with(index, letter === "N" ? "S" : "N");
    const others = letters.map((one, at) => (at === index ? "S" : "N"));
    return relabel({ nuclearity: (letters.includes("N") ? letters : others).join("") });
  };
  return button(letter, `${name} (n)`, flip, { "aria-label": name, id: `role-${index}` });
}

function relationButton(place, relation, child) {
  const what = child === undefined ? "Relation" : `Relation of EDUs ${rangeName(rangeOf(partsOf(place)[child]))}`;
  return button(relation, `${what}: choose another (l)`, () => choosePalette(child), {
    id: `relation-${child ?? 0}`,
    class: "relation",
    "aria-label": `${what}: ${relation}`,
    "aria-haspopup": "dialog",
  });
}

// Tools for EDUs: a button before each word except the first splits the EDU there.

function eduTools(place) {
  const edu = place.start;
  const text = make("span", { class: "words", dir: "auto" });
  words(bench.doc, edu).forEach(({ start, end }, index) => {
    const word = characters(bench.doc).slice(start, end).join("");
    const cut = () => step(splitEdu(bench.doc, edu, index), { select: [edu, edu + 1] });
    const title = `Split before “${word}”`;
    if (index) text.append(button("|", title, cut, { class: "cut", "aria-label": title }));
    text.append(make("span", {}, word));
  });
  const move = (by) => () => step(moveStart(bench.doc, edu, by));
  return [
    text,
    button("Start ←", "Take one word from the previous EDU ([)", move(-1), { id: "start-left", disabled: edu === 0 }),
    button("Start →", "Give one word to the previous EDU (])", move(1), { id: "start-right", disabled: edu === 0 }),
    button("Join EDUs", "Join this EDU with the next (e)", mergeEdus, {
      id: "join-edus",
      disabled: edu + 1 >= bench.doc.edus.length,
    }),
  ];
}

function commonTools(place) {
  const { flag: isFlagged } = noteAt(bench.doc, rangeOf(place));
  const notes = [
    button("Comment…", "Comment on this unit (m)", comment, { id: "comment" }),
    button("Flag", "Flag this unit for later (g)", flag, { id: "flag", "aria-pressed": String(Boolean(isFlagged)) }),
  ];
  if (!place.parent) return notes;
  return [
    button("Attach to…", "Choose the unit to attach it to (r), or drag it there", startChoosing, { id: "attach" }),
    button("Join with next", "Make a unit of this and the next unit (j)", join, { id: "join" }),
    ...notes,
  ];
}

// Commands, for buttons and keys.

function selectedRange() {
  if (!bench.selected || bench.other) throw new Error("select a unit first");
  return bench.selected;
}

function freeze() {
  const range = selectedRange();
  const thaw = isFrozen(bench.doc, range);
  say(thaw ? "unfrozen" : "frozen");
  return step(frozen(bench.doc, range, { thaw }), { changed: bench.changed, isFreezing: true });
}

function freezeAll() {
  const range = selectedRange();
  const inside = places(placeAt(bench.doc.tree, range).node).filter(isUnit);
  const thaw = inside.every((one) => isFrozen(bench.doc, rangeOf(one)));
  say(thaw ? "unfrozen, with all units inside" : "frozen, with all units inside");
  return step(frozen(bench.doc, range, { deep: true, thaw }), { changed: bench.changed, isFreezing: true });
}

function dissolve() {
  const range = selectedRange();
  const above = rangeOf(placeAt(bench.doc.tree, range).parent ?? { start: 0, stop: 0 });
  return step(dissolved(bench.doc, range), { select: above });
}

function join() {
  const doc = joined(bench.doc, selectedRange());
  return step(doc, { select: newest(doc) });
}

// The unit that the last edit made and froze.
function newest(doc) {
  return doc.constraints.at(-1)?.edus ?? bench.selected;
}

function selectedEdu() {
  const [edu, stop] = selectedRange();
  if (stop - edu > 1) throw new Error("this unit has several EDUs; select a single EDU first");
  return edu;
}

function mergeEdus() {
  const edu = selectedEdu();
  say("joined the EDU with the next");
  return step(joinEdus(bench.doc, edu), { select: [edu, edu + 1] });
}

function moveEdu(by) {
  return step(moveStart(bench.doc, selectedEdu(), by));
}

function turn() {
  const place = placeAt(bench.doc.tree, selectedRange());
  if (!isUnit(place)) throw new Error("an EDU has no nuclearity; select a unit first");
  const rounds = ["NS", "SN", "NN"];
  const at = rounds.indexOf(place.node.nuclearity);
  if (at < 0) throw new Error("this unit has more than two parts; choose their roles in the panel");
  return relabel({ nuclearity: rounds[(at + 1) % 3] });
}
