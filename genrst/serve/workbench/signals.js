// Why: the signals of relations, the words that mark them, and secondary edges. First what an annotator does to them,
// as functions from a document to another one (`edits.js`); then how the panel shows them.

const SIGNAL_TYPES = {
  dm: ["dm"],
  orphan: ["orphan"],
  graphical: [
    ...["layout", "items_in_sequence", "colon", "dash", "semicolon", "parentheses", "quotation_marks"],
    ...["question_mark"],
  ],
  lexical: ["indicative_word", "indicative_phrase", "alternate_expression"],
  morphological: ["tense", "mood"],
  numerical: ["same_count"],
  reference: ["personal_reference", "demonstrative_reference", "comparative_reference", "propositional_reference"],
  semantic: ["repetition", "synonymy", "antonymy", "meronymy", "lexical_chain", "negation", "attribution_source"],
  syntactic: [
    ...["relative_clause", "infinitival_clause", "present_participial_clause", "past_participial_clause"],
    ...["modified_head", "nominal_modifier", "parallel_syntactic_construction", "reported_speech"],
    ...["subject_auxiliary_inversion", "interrupted_matrix_clause"],
  ],
  unsure: ["unsure"],
};

// Whether two ranges of EDUs, or lists of numbers, are the same.
const isSame = (one, other) => String(one ?? "") === String(other ?? "");

// The words that signals number, from 1: tokens, or what white space separates in EDUs.
function numberedWords(doc) {
  return doc.tokens?.length ? doc.tokens : doc.edus.flatMap((_, edu) => words(doc, edu));
}

// After EDUs have changed, words may have other numbers: signals mark the same characters as before.
function sameWords(before, after) {
  const isTouched = after.signals?.length && !after.tokens?.length && before.edus !== after.edus;
  if (!isTouched || before.text !== after.text) return after;
  const [old, now] = [numberedWords(before), numberedWords(after)];
  const meets = (one, word) => word && one.start < word.end && word.start < one.end;
  const numbers = (word) => now.flatMap((one, at) => (meets(one, word) ? [at + 1] : []));
  const signals = after.signals.map((one) => {
    const tokens = (one.tokens ?? []).flatMap((number) => numbers(old[number - 1]));
    return isSame(tokens, one.tokens) ? one : withTokens(one, [...new Set(tokens)]);
  });
  return { ...after, signals };
}

// A signal of other words; the service writes what they are anew.
function withTokens({ words: _, ...signal }, tokens) {
  return { ...signal, tokens: tokens.toSorted((left, right) => left - right) };
}

// The signals and edges of a document, each with its place in it.
function signalsAt(doc, unit, target) {
  const all = (doc.signals ?? []).map((signal, index) => ({ signal, index }));
  return all.filter(({ signal }) => isSame(signal.unit, unit) && isSame(signal.target, target));
}

function edgesAt(doc, unit) {
  const all = (doc.secondary_edges ?? []).map((edge, index) => ({ edge, index }));
  return all.filter(({ edge }) => isSame(edge.source, unit) || isSame(edge.target, unit));
}

function checkUnit(doc, range) {
  placeAt(doc.tree, range);
}

function addedSignal(doc, signal) {
  checkUnit(doc, signal.unit);
  return { ...doc, signals: [...(doc.signals ?? []), signal] };
}

function changedSignal(doc, index, changes) {
  const signal = { ...doc.signals[index], ...changes };
  checkUnit(doc, signal.unit);
  const made = changes.tokens ? withTokens(signal, changes.tokens) : signal;
  return { ...doc, signals: doc.signals.with(index, made) };
}

function removedSignal(doc, index) {
  return { ...doc, signals: doc.signals.toSpliced(index, 1) };
}

function toggledWord(doc, index, number) {
  const tokens = doc.signals[index].tokens ?? [];
  const others = tokens.filter((one) => one !== number);
  return changedSignal(doc, index, { tokens: others.length < tokens.length ? others : [...tokens, number] });
}

function checkEdge(doc, edge, others) {
  [edge.source, edge.target].forEach((range) => checkUnit(doc, range));
  if (isSame(edge.source, edge.target)) throw new Error("a secondary edge must lead to another unit");
  if (others.some((one) => isSame(one.source, edge.source) && isSame(one.target, edge.target))) {
    throw new Error("there is a secondary edge between these already");
  }
}

function addedEdge(doc, edge) {
  checkEdge(doc, edge, doc.secondary_edges ?? []);
  return { ...doc, secondary_edges: [...(doc.secondary_edges ?? []), edge] };
}

// Change an edge; its signals go with it.
function changedEdge(doc, index, changes) {
  const old = doc.secondary_edges[index];
  const edge = { ...old, ...changes };
  checkEdge(doc, edge, doc.secondary_edges.toSpliced(index, 1));
  const ends = { unit: edge.source, target: edge.target };
  const isOfIt = (one) => isSame(one.unit, old.source) && isSame(one.target, old.target);
  const moved = doc.signals?.map((one) => (isOfIt(one) ? { ...one, ...ends } : one));
  return { ...doc, ...(moved && { signals: moved }), secondary_edges: doc.secondary_edges.with(index, edge) };
}

// Remove an edge, and its signals with it.
function removedEdge(doc, index) {
  const { source, target } = doc.secondary_edges[index];
  const left = doc.signals?.filter((one) => !(isSame(one.unit, source) && isSame(one.target, target)));
  return { ...doc, ...(left && { signals: left }), secondary_edges: doc.secondary_edges.toSpliced(index, 1) };
}

// What the service needs to draw them.
function layersOf({ signals, secondary_edges: edges, tokens }) {
  if (!signals?.length && !edges?.length) return {};
  return { ...(signals && { signals }), ...(edges && { secondary_edges: edges }), ...(tokens && { tokens }) };
}

// The words of a signal, as people read them.
function markName(doc, signal) {
  const all = numberedWords(doc);
  const found = (signal.tokens ?? []).map((number) => all[number - 1]).filter(Boolean);
  const shown = found.map(({ start, end }) => characters(doc).slice(start, end).join("")).join(" ");
  return shown ? `“${shown.length > 40 ? `${shown.slice(0, 39)}…` : shown}”` : "no words";
}

// The panel: below the tools of a unit, what marks its relation, and the edges from it and to it.

let marking = null; // the number of the signal whose words are being chosen

function whyTools(place) {
  const { doc } = bench;
  const range = rangeOf(place);
  const ofUnit = signalsAt(doc, range).map(({ index }) => index);
  const ofEdge = ({ source, target }) => signalsAt(doc, source, target).map(({ index }) => index);
  const edges = edgesAt(doc, range);
  const shown = [...ofUnit, ...edges.flatMap(({ edge }) => ofEdge(edge))];
  if (!shown.includes(marking)) marking = null;
  const add = () => {
    say("choose its words");
    const signal = { unit: range, type: "dm", subtype: "dm", tokens: [] };
    return stepMarking(doc.signals?.length ?? 0, addedSignal(doc, signal));
  };
  const addEdge = () => pick(`choose what EDUs ${rangeName(range)} relate to`, (target) => linked(range, target));
  return [
    make(
      "div",
      { id: "why", role: "group", "aria-label": "Signals and secondary edges" },
      ...ofUnit.map((index) => signalRow(doc, index)),
      ...edges.flatMap(({ edge, index }) => [
        edgeRow(doc, range, edge, index),
        ...ofEdge(edge).map((number) => signalRow(doc, number)),
      ]),
      ...(place.parent ? [button("Add a signal", "Words that mark its relation", add, { id: "add-signal" })] : []),
      button("Add an edge to…", "A relation beside the tree, from this unit", addEdge, { id: "add-edge" }),
      ...(marking === null ? [] : [wordChoice(doc, range)]),
    ),
  ];
}

// Take a step after which the words of a signal can be chosen, or no longer.
function stepMarking(index, doc, select = bench.selected) {
  marking = index;
  return step(doc, { select });
}

function linked(source, target) {
  const edge = { source, target, relation: places(bench.doc.tree)[0].node.relation };
  const number = bench.doc.signals?.length ?? 0;
  const signal = { unit: source, type: "orphan", subtype: "orphan", tokens: [], target };
  say("an edge: choose its relation, and the words that mark it");
  return stepMarking(number, addedSignal(addedEdge(bench.doc, edge), signal), source);
}

function signalRow(doc, index) {
  const signal = doc.signals[index];
  const kinds = Object.entries(SIGNAL_TYPES).flatMap(([type, names]) => names.map((name) => `${type} ${name}`));
  const own = `${signal.type} ${signal.subtype}`;
  const change = (event) => {
    const [type, subtype] = event.target.value.split(" ");
    return attempt(() => step(changedSignal(bench.doc, index, { type, subtype })));
  };
  const menu = make("select", { "aria-label": "What marks the relation", id: `signal-${index}`, change });
  for (const kind of new Set([...kinds, own])) {
    const [type, name] = [kind.split(" ")[0], kind.split(" ").slice(1).join(" ")];
    const shown = type === name ? type : `${type}: ${name.replaceAll("_", " ")}`;
    menu.add(new Option(shown, kind, kind === own, kind === own));
  }
  const toggle = () => {
    marking = marking === index ? null : index;
    showPanel();
  };
  const moving = "choose the unit whose relation it marks";
  const move = () => pick(moving, (unit) => step(changedSignal(bench.doc, index, { unit }), { select: unit }));
  const name = markName(doc, signal);
  return make(
    "span",
    { class: signal.target ? "signal of-edge" : "signal" },
    button(name, "Choose its words", toggle, { "aria-pressed": String(marking === index), id: `words-${index}` }),
    menu,
    ...(signal.target ? [] : [button("Move…", "It marks another unit", move, { id: `move-signal-${index}` })]),
    button("×", `Remove the signal ${name}`, () => stepMarking(null, removedSignal(bench.doc, index)), {
      "aria-label": `Remove the signal ${name}`,
      id: `remove-signal-${index}`,
    }),
  );
}

function edgeRow(doc, range, edge, index) {
  const isFrom = isSame(edge.source, range);
  const change = (event) => attempt(() => step(changedEdge(bench.doc, index, { relation: event.target.value })));
  const menu = make("select", { "aria-label": "Relation of the edge", id: `edge-${index}`, change });
  const used = places(doc.tree)
    .filter(isUnit)
    .flatMap((one) => labelsOf(one.node));
  const { labels, fine } = modelInUse();
  const names = new Set([...labels.map((label) => label.relation), ...Object.keys(fine), ...used, edge.relation]);
  names.delete("span");
  for (const name of [...names].sort()) {
    menu.add(new Option(name, name, name === edge.relation, name === edge.relation));
  }
  const end = isFrom ? "target" : "source";
  const moving = `choose the ${end} of the edge`;
  const move = () => pick(moving, (unit) => stepMarking(null, changedEdge(bench.doc, index, { [end]: unit }), range));
  const n = signalsAt(doc, edge.source, edge.target).length;
  const remove = () => {
    if (n) say(`removed with ${n} signal${n > 1 ? "s" : ""} of the edge; undo brings them back`);
    return stepMarking(null, removedEdge(bench.doc, index));
  };
  const name = isFrom ? `⇢ ${rangeName(edge.target)}` : `${rangeName(edge.source)} ⇢`;
  return make(
    "span",
    { class: "signal edge-row" },
    name,
    menu,
    button("Move…", `Another ${end}`, move, { id: `move-edge-${index}` }),
    button("×", "Remove the edge and its signals", remove, {
      "aria-label": `Remove the edge ${name}`,
      id: `remove-edge-${index}`,
    }),
  );
}

// The words that can be chosen: those of the unit and of its neighbours above, or further ones that are marked already.
const MOST_WORDS = 120;

function wordChoice(doc, range) {
  const { unit, target, tokens = [] } = doc.signals[marking];
  const above = placeAt(doc.tree, unit).parent;
  const near = [range, unit, target, above && rangeOf(above)].filter(Boolean);
  const start = doc.edus[Math.min(...near.map((one) => one[0]))].start;
  const end = doc.edus[Math.max(...near.map((one) => one[1])) - 1].end;
  const own = doc.edus[unit[0]].start;
  const all = numberedWords(doc).map((word, at) => ({ ...word, number: at + 1 }));
  const inside = all.filter((word) => word.start >= start && word.end <= end);
  // Of a long unit those around its start, where most markers are.
  const first = Math.max(0, inside.findIndex((word) => word.start >= own) - MOST_WORDS / 4);
  const shown = new Set(inside.slice(first, first + MOST_WORDS).map((word) => word.number));
  const choice = all.filter((word) => shown.has(word.number) || tokens.includes(word.number));
  const one = ({ start: from, end: to, number }) => {
    const text = characters(doc).slice(from, to).join("");
    const toggle = () => step(toggledWord(bench.doc, marking, number));
    return button(text, "Does it mark the relation?", toggle, {
      "aria-pressed": String(tokens.includes(number)),
      id: `word-${number}`,
    });
  };
  return make("span", { class: "words", dir: "auto", role: "group", "aria-label": "Words" }, ...choice.map(one));
}

// Picking a unit: a click on it, or Enter where the focus is; Escape leaves all as it was.

let picking = null;

function pick(message, take) {
  picking = take;
  document.body.classList.add("choosing");
  say(`${message}: click it, or walk there and press Enter; Escape: leave it`);
  if (bench.selected) goTo(nodeAt(bench.selected));
}

function picked(node) {
  const take = picking;
  picking = null;
  document.body.classList.remove("choosing");
  return node ? attempt(() => take([node.start, node.stop])) : say("left as it was");
}

for (const event of ["click", "keydown"]) {
  document.addEventListener(
    event,
    (one) => {
      if (!picking) return;
      const node = nodeOf(one.target) ?? leafOf(one.target);
      if (one.key === "Escape") picked(null);
      else if (node && (one.type === "click" || one.key === "Enter")) picked(node);
      else return;
      one.stopPropagation();
      one.preventDefault();
    },
    true,
  );
}
