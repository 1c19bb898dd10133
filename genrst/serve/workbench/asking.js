// Suggestions of the parser: a new tree around the frozen units, or alternative trees of one unit. Each can be
// previewed before it is taken.

function totalUnits(tree) {
  return places(tree).filter(isUnit).length;
}

async function askAgain() {
  const { doc } = bench;
  if (!doc) throw new Error("open a text first");
  if (bench.other) throw new Error("end the comparison first");
  await endPreview();
  if (isWholeFrozen(doc)) {
    throw new Error("the whole tree is frozen; unfreeze the units that the parser may change (z, or Z for all inside)");
  }
  const { documents } = await parse({ document: { ...doc, constraints: demanded(doc, modelInUse()) } });
  if (bench.doc !== doc) return say("the tree has changed in the meantime; try again", true);
  const [answer] = documents;
  const tree = restored(doc, answer.tree);
  const { id, metadata, constraints, signals, secondary_edges } = doc;
  const all = { metadata, signals, secondary_edges };
  const beside = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  const next = pruned({ ...doc, ...answer, id, tree, constraints, ...beside });
  const changed = changes(doc.tree, tree);
  if (!changed.length) return say("the parser finds nothing to change");
  const n = changed.length;
  const dropped = losses(doc, next);
  const title = `${n} of ${totalUnits(doc.tree)} units would change${dropped ? `, and ${dropped} would be removed` : ""}`;
  const told = ["one unit has changed"][n - 1] ?? `${n} units have changed`;
  const details = describeChanges(doc.tree, tree);
  return offer(title, [{ doc: next, changed, name: "Take the new tree", told, details }]);
}

// Alternatives: the best trees of this unit, with everything outside it fixed.

async function alternatives() {
  const range = selectedRange();
  const { doc } = bench;
  await endPreview();
  const inside = new Set(places(placeAt(doc.tree, range).node).map((one) => String(rangeOf(one))));
  const outside = places(doc.tree).filter((one) => isUnit(one) && !inside.has(String(rangeOf(one))));
  const held = { ...doc, constraints: [...outside.map(fixedUnit), { edus: range }] };
  const { documents } = await parse({ document: { ...held, constraints: demanded(held, modelInUse()) }, trees: 10 });
  if (bench.doc !== doc) return say("the tree has changed in the meantime; try again", true);
  const now = placeAt(doc.tree, range);
  const best = Math.max(...documents.map((one) => one.log_probability));
  const weight = (one) => Math.exp(one.log_probability - best);
  const total = documents.reduce((sum, one) => sum + weight(one), 0);
  const found = new Map();
  for (const one of documents) {
    const node = places(one.tree).find((place) => isAt(place, range))?.node;
    if (!node) continue;
    const key = JSON.stringify(bare(node));
    found.set(key, { node, share: (found.get(key)?.share ?? 0) + weight(one) / total });
  }
  const own = found.get(JSON.stringify(bare(now.node)));
  const others = [...found.values()].filter((one) => one !== own);
  if (!others.length) throw new Error("the parser has no alternatives for this unit");
  const trees = others.map((one) => replaced(now, one.node));
  const lists = trees.map((tree) => describeChanges(doc.tree, tree));
  const spread = (line) => lists.filter((lines) => lines.includes(line)).length;
  const rows = others.map(({ share }, index) => {
    const tree = trees[index];
    // The most distinctive change comes first.
    const [name, ...details] = lists[index].sort((one, other) => spread(one) - spread(other));
    const changed = changes(doc.tree, tree);
    const title = `${percent(share)} · ${name ?? "different parts"}`;
    return { doc: kept({ ...doc, tree }, [range]), changed, name: title, details };
  });
  const today = own ? ` (current tree: ${percent(own.share)} of the ${documents.length} best)` : "";
  return offer(`Alternatives for EDUs ${rangeName(range)}${today}`, rows);
}

function percent(share) {
  return share < 0.01 ? "< 1%" : `${Math.round(100 * share)}%`;
}

function bare(node) {
  return node.children ? [labelsOf(node), node.nuclearity, node.children.map(bare)] : node.edu;
}

// The list of suggestions: the focused one is previewed in the tree. Enter takes it, Escape closes the list.

const MOST_DETAILS = 4;

function offer(title, rows) {
  const list = find("choices");
  const take = ({ doc, changed, told }) => {
    closeChoices();
    if (told) say(told);
    return step(doc, { changed, select: stillThere(doc.tree) });
  };
  const items = rows.map((row) => {
    const { name, details } = row;
    const more = details.length > MOST_DETAILS ? [`… and ${details.length - MOST_DETAILS} more`] : [];
    const one = button(name, "Take this tree (Enter)", () => take(row), { focus: () => attempt(() => showPreview(row)) });
    const lines = [...details.slice(0, MOST_DETAILS), ...more].join(" · ");
    return make("li", {}, one, ...(lines ? [make("span", { class: "details" }, lines)] : []));
  });
  const leave = button("Cancel", "Keep the tree as it is (Escape)", leaveChoices, { id: "choices-leave" });
  list.replaceChildren(make("h2", {}, title), make("ol", {}, ...items), leave);
  list.hidden = false;
  list.querySelector("li button").focus();
}

function showPreview({ doc, changed }) {
  if (bench.preview?.doc === doc) return undefined;
  bench.preview = { doc, changed };
  return draw();
}

function closeChoices() {
  bench.preview = null;
  find("choices").hidden = true;
}

async function endPreview() {
  const wasOn = bench.preview;
  closeChoices();
  if (wasOn) await draw();
}

async function leaveChoices() {
  await endPreview();
  refocus(null);
  say("nothing changed");
}

find("choices").addEventListener("keydown", (event) => {
  const buttons = [...find("choices").querySelectorAll("button")];
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "Escape") attempt(leaveChoices);
  else if (by) buttons[buttons.indexOf(document.activeElement) + by]?.focus();
  else return;
  event.preventDefault();
});

function stillThere(tree) {
  return places(tree).some((one) => bench.selected && isAt(one, bench.selected)) ? bench.selected : null;
}
