// The panel: what can be done with the selected node. It is made anew whenever something changes.

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
  panel.hidden = !place;
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
  return make("h2", {}, what + sure);
}

// Units: roles and relations.

function unitTools(place) {
  const { node } = place;
  const labels = labelsOf(node);
  const roles = [...node.nuclearity].map((letter, index) => roleButton(place, letter, index));
  const satellites = labels.flatMap((label, index) => (label === "span" ? [] : [index]));
  const menus = node.relations
    ? satellites.map((child) => relationMenu(place, labels[child], child))
    : [relationMenu(place, node.relation)];
  const isFixed = isFrozen(bench.doc, bench.selected);
  return [
    make("span", { class: "group", role: "group", "aria-label": "Nuclearity" }, ...roles),
    ...menus,
    button(isFixed ? "Thaw" : "Freeze", "Keep this unit when the parser is asked again (z)", freeze, {
      "aria-pressed": String(isFixed),
      id: "freeze",
    }),
    button("Freeze all inside", "Keep this unit and all that is in it (Z)", freezeAll, { id: "freeze-all" }),
    button("Split", "Its parts become those of the unit above (x)", dissolve, {
      id: "dissolve",
      disabled: !place.parent,
    }),
    button("Alternatives", "What the parser would put here instead (k)", alternatives, { id: "alternatives" }),
  ];
}

function relabel(label) {
  return step(relabelled(bench.doc, bench.selected, label), { isLabel: true });
}

function roleButton(place, letter, index) {
  const name = `EDUs ${rangeName(rangeOf(partsOf(place)[index]))}: ${letter === "N" ? "nucleus" : "satellite"}`;
  // There must be a nucleus: when the last one becomes a satellite, the others become nuclei.
  const flip = () => {
    const letters = [...place.node.nuclearity].with(index, letter === "N" ? "S" : "N");
    const others = letters.map((one, at) => (at === index ? "S" : "N"));
    return relabel({ nuclearity: (letters.includes("N") ? letters : others).join("") });
  };
  return button(letter, `${name} (n)`, flip, { "aria-label": name, id: `role-${index}` });
}

function relationMenu(place, relation, child) {
  const change = (event) => attempt(() => relabel({ relation: event.target.value, child }));
  const menu = make("select", { id: `relation-${child ?? 0}`, change, title: "Relation (l)" });
  const { labels, fine } = modelInUse();
  const used = places(bench.doc.tree)
    .filter(isUnit)
    .flatMap((one) => labelsOf(one.node));
  const names = new Set([...labels.map((label) => label.relation), ...Object.keys(fine), ...used]);
  names.delete("span");
  for (const name of [...names].sort()) menu.add(new Option(name, name, name === relation, name === relation));
  const what = child === undefined ? "Relation" : `Relation of EDUs ${rangeName(rangeOf(partsOf(place)[child]))}`;
  menu.setAttribute("aria-label", what);
  return menu;
}

// EDUs: a button before each word but the first splits there.

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
    button("Start ←", "One word from the EDU before ([)", move(-1), { id: "start-left", disabled: edu === 0 }),
    button("Start →", "One word to the EDU before (])", move(1), { id: "start-right", disabled: edu === 0 }),
    button("Join EDUs", "This EDU and the next are one (e)", mergeEdus, {
      id: "join-edus",
      disabled: edu + 1 >= bench.doc.edus.length,
    }),
  ];
}

function commonTools(place) {
  if (!place.parent) return [];
  return [
    button("Attach to…", "Choose what it belongs to (r)", chooseTarget, { id: "attach" }),
    button("Join with next", "A unit of this and what follows (j)", join, { id: "join" }),
  ];
}

// What can be done, by click and by key.

function selectedRange() {
  if (!bench.selected || bench.other) throw new Error("select a unit first");
  return bench.selected;
}

function freeze() {
  const range = selectedRange();
  const thaw = isFrozen(bench.doc, range);
  say(thaw ? "thawed" : "frozen");
  return step(frozen(bench.doc, range, { thaw }), { changed: bench.changed });
}

function freezeAll() {
  const range = selectedRange();
  const inside = places(placeAt(bench.doc.tree, range).node).filter(isUnit);
  const thaw = inside.every((one) => isFrozen(bench.doc, rangeOf(one)));
  say(thaw ? "thawed, with all inside" : "frozen, with all inside");
  return step(frozen(bench.doc, range, { deep: true, thaw }), { changed: bench.changed });
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

// The unit that an edit has just made and frozen.
function newest(doc) {
  return doc.constraints.at(-1)?.edus ?? bench.selected;
}

function mergeEdus() {
  const [edu] = selectedRange();
  return step(joinEdus(bench.doc, edu), { select: [edu, edu + 1] });
}

function turn() {
  const { node } = placeAt(bench.doc.tree, selectedRange());
  const rounds = ["NS", "SN", "NN"];
  const at = rounds.indexOf(node.nuclearity);
  if (at < 0) throw new Error("this unit has several parts: choose their roles in the panel");
  return relabel({ nuclearity: rounds[(at + 1) % 3] });
}

// Attaching: the possible targets are shown; a click or Enter on one of them chooses it, Escape none.

let choosing = null;

function chooseTarget() {
  const range = selectedRange();
  const found = targets(bench.doc.tree, range);
  if (!found.length) throw new Error("there is nothing else to attach it to");
  choosing = { range, names: new Set(found.map((one) => one.join("-"))) };
  for (const node of pictures[0].nodes) {
    node.rect.classList.toggle("target", choosing.names.has(`${node.start}-${node.stop}`));
  }
  document.body.classList.add("choosing");
  say(`choose what EDUs ${rangeName(range)} belong to: click it, or walk there and press Enter; Escape: leave it`);
  goTo(nodeAt(found[0]));
}

function choose(node) {
  const { range, names } = choosing;
  if (!names.has(`${node.start}-${node.stop}`))
    return say("that is not next to it; choose one of the marked units", true);
  stopChoosing();
  return attempt(() => {
    const doc = attached(bench.doc, range, [node.start, node.stop]);
    say("attached");
    return step(doc, { select: newest(doc) });
  });
}

function stopChoosing() {
  choosing = null;
  document.body.classList.remove("choosing");
  for (const node of pictures[0]?.nodes ?? []) node.rect.classList.remove("target");
}

// Alternatives: the best trees of this unit while all outside it stays.

async function alternatives() {
  const range = selectedRange();
  const { doc } = bench;
  const inside = new Set(places(placeAt(doc.tree, range).node).map((one) => String(rangeOf(one))));
  const outside = places(doc.tree).filter((one) => isUnit(one) && !inside.has(String(rangeOf(one))));
  const held = { ...doc, constraints: [...outside.map(fixedUnit), { edus: range }] };
  const { documents } = await parse({ document: { ...held, constraints: demanded(held, modelInUse()) }, trees: 10 });
  const now = JSON.stringify(bare(placeAt(doc.tree, range).node));
  const found = new Map();
  for (const one of documents) {
    const node = places(one.tree).find((place) => isAt(place, range))?.node;
    if (node && JSON.stringify(bare(node)) !== now) found.set(JSON.stringify(bare(node)), node);
  }
  listAlternatives(range, [...found.values()]);
}

function bare(node) {
  return node.children ? [labelsOf(node), node.nuclearity, node.children.map(bare)] : node.edu;
}

// A tree in a line: its label, and the first of the units inside it.
function describe(tree) {
  const name = ({ node }) => `${node.relation} ${node.nuclearity}`;
  const [top, ...inside] = places(tree).filter(isUnit);
  const parts = inside.slice(0, 4).map((one) => `${rangeName(rangeOf(one))} ${name(one)}`);
  if (inside.length > 4) parts.push("…");
  return parts.length ? `${name(top)} (${parts.join("; ")})` : name(top);
}

function listAlternatives(range, nodes) {
  const list = find("choices");
  const take = (node) => () => {
    list.hidden = true;
    const tree = replaced(placeAt(bench.doc.tree, range), node);
    return step(kept({ ...bench.doc, tree }, [range]), { changed: changes(bench.doc.tree, tree) });
  };
  const rows = nodes.map((node) => make("li", {}, button(describe(node), "Take this one", take(node))));
  list.replaceChildren(
    make("h2", {}, rows.length ? `EDUs ${rangeName(range)} might be` : "The parser knows nothing else here"),
    make("ol", {}, ...rows),
  );
  list.append(button("Close", "Close", () => (list.hidden = true)));
  list.hidden = false;
  list.querySelector("button").focus();
}
