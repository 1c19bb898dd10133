// Signals, the words that mark relations, and secondary edges: first the edits, which are functions from document to
// document as in `edits.js`, then the panel.

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

// Whether two ranges of EDUs, or lists of numbers, are equal.
const isSame = (one, other) => String(one ?? "") === String(other ?? "");

// The words that signals refer to, numbered from 1: tokens or, without tokens, the words of EDUs split at white space.
function numberedWords(doc) {
  return doc.tokens?.length ? doc.tokens : doc.edus.flatMap((_, edu) => words(doc, edu));
}

// Renumber the words of signals after EDUs have changed, so that they mark the same characters as before.
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

// A signal with other words; the text of its words is dropped, and the service fills it in.
function withTokens({ words: _, ...signal }, tokens) {
  return { ...signal, tokens: tokens.toSorted((left, right) => left - right) };
}

// The signals and edges of a unit, each with its index in the document.
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
  if (isSame(edge.source, edge.target)) throw new Error("a secondary edge must connect two different units");
  if (others.some((one) => isSame(one.source, edge.source) && isSame(one.target, edge.target))) {
    throw new Error("these units already have a secondary edge");
  }
}

function addedEdge(doc, edge) {
  checkEdge(doc, edge, doc.secondary_edges ?? []);
  return { ...doc, secondary_edges: [...(doc.secondary_edges ?? []), edge] };
}

// Change an edge and its signals.
function changedEdge(doc, index, changes) {
  const old = doc.secondary_edges[index];
  const edge = { ...old, ...changes };
  checkEdge(doc, edge, doc.secondary_edges.toSpliced(index, 1));
  const ends = { unit: edge.source, target: edge.target };
  const isOfIt = (one) => isSame(one.unit, old.source) && isSame(one.target, old.target);
  const moved = doc.signals?.map((one) => (isOfIt(one) ? { ...one, ...ends } : one));
  return { ...doc, ...(moved && { signals: moved }), secondary_edges: doc.secondary_edges.with(index, edge) };
}

// Remove an edge and its signals.
function removedEdge(doc, index) {
  const { source, target } = doc.secondary_edges[index];
  const left = doc.signals?.filter((one) => !(isSame(one.unit, source) && isSame(one.target, target)));
  return { ...doc, ...(left && { signals: left }), secondary_edges: doc.secondary_edges.toSpliced(index, 1) };
}

// The parts of a document that are needed to draw signals and edges.
function layersOf({ signals, secondary_edges: edges, tokens }) {
  if (!signals?.length && !edges?.length) return {};
  return { ...(signals && { signals }), ...(edges && { secondary_edges: edges }), ...(tokens && { tokens }) };
}

// The words of a signal, for display.
function markName(doc, signal) {
  const all = numberedWords(doc);
  const found = (signal.tokens ?? []).map((number) => all[number - 1]).filter(Boolean);
  const shown = found.map(({ start, end }) => characters(doc).slice(start, end).join("")).join(" ");
  return shown ? `“${shown.length > 40 ? `${shown.slice(0, 39)}…` : shown}”` : "no words";
}

// The panel: below the tools of a unit, the signals of its relation and its secondary edges.

let marking = null; // the index of the signal whose words are being chosen

function whyTools(place) {
  const { doc } = bench;
  const range = rangeOf(place);
  const ofUnit = signalsAt(doc, range).map(({ index }) => index);
  const ofEdge = ({ source, target }) => signalsAt(doc, source, target).map(({ index }) => index);
  const edges = edgesAt(doc, range);
  const shown = [...ofUnit, ...edges.flatMap(({ edge }) => ofEdge(edge))];
  if (!shown.includes(marking)) marking = null;
  const add = () => {
    say("choose the words of the signal");
    const signal = { unit: range, type: "dm", subtype: "dm", tokens: [] };
    return stepMarking(doc.signals?.length ?? 0, addedSignal(doc, signal));
  };
  const addEdge = () => pick(`choose the unit that EDUs ${rangeName(range)} relate to`, (target) => linked(range, target));
  return [
    make(
      "div",
      { id: "why", role: "group", "aria-label": "Signals and secondary edges" },
      ...ofUnit.map((index) => signalRow(doc, index)),
      ...edges.flatMap(({ edge, index }) => [
        edgeRow(doc, range, edge, index),
        ...ofEdge(edge).map((number) => signalRow(doc, number)),
      ]),
      ...(place.parent ? [button("Add a signal", "Mark words that signal the relation", add, { id: "add-signal" })] : []),
      button("Add an edge to…", "Add a secondary edge from this unit to another one", addEdge, { id: "add-edge" }),
      ...(marking === null ? [] : [wordChoice(doc, range)]),
    ),
  ];
}

// Take a step after which the words of this signal can be chosen; null ends choosing.
function stepMarking(index, doc, select = bench.selected) {
  marking = index;
  return step(doc, { select });
}

function linked(source, target) {
  const edge = { source, target, relation: places(bench.doc.tree)[0].node.relation };
  const number = bench.doc.signals?.length ?? 0;
  const signal = { unit: source, type: "orphan", subtype: "orphan", tokens: [], target };
  say("edge added: choose its relation and the words that mark it");
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
  const menu = make("select", { "aria-label": "Type of the signal", id: `signal-${index}`, change });
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
    button(name, "Choose the words of the signal", toggle, { "aria-pressed": String(marking === index), id: `words-${index}` }),
    menu,
    ...(signal.target ? [] : [button("Move…", "Move the signal to another unit", move, { id: `move-signal-${index}` })]),
    button("×", `Remove the signal ${name}`, () => stepMarking(null, removedSignal(bench.doc, index)), {
      "aria-label": `Remove the signal ${name}`,
      id: `remove-signal-${index}`,
    }),
  );
}

function edgeRow(doc, range, edge, index) {
  const isFrom = isSame(edge.source, range);
  const change = (relation) => step(changedEdge(bench.doc, index, { relation }));
  const menu = button(edge.relation, "Choose the relation of the edge", () => openPalette(edge.relation, change), {
    "aria-label": `Relation of the edge: ${edge.relation}`,
    "aria-haspopup": "dialog",
    class: "relation",
    id: `edge-${index}`,
  });
  const end = isFrom ? "target" : "source";
  const moving = `choose the ${end} of the edge`;
  const move = () => pick(moving, (unit) => stepMarking(null, changedEdge(bench.doc, index, { [end]: unit }), range));
  const n = signalsAt(doc, edge.source, edge.target).length;
  const remove = () => {
    if (n) say(`edge removed with ${n} signal${n > 1 ? "s" : ""}; undo restores them`);
    return stepMarking(null, removedEdge(bench.doc, index));
  };
  const name = isFrom ? `⇢ ${rangeName(edge.target)}` : `${rangeName(edge.source)} ⇢`;
  return make(
    "span",
    { class: "signal edge-row" },
    name,
    menu,
    button("Move…", `Choose another ${end}`, move, { id: `move-edge-${index}` }),
    button("×", "Remove the edge and its signals", remove, {
      "aria-label": `Remove the edge ${name}`,
      id: `remove-edge-${index}`,
    }),
  );
}

// The words that can be chosen: those of the unit and of the unit above it, and any other words already marked.
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
  // In a long unit, only the words around its start, where most markers are.
  const first = Math.max(0, inside.findIndex((word) => word.start >= own) - MOST_WORDS / 4);
  const shown = new Set(inside.slice(first, first + MOST_WORDS).map((word) => word.number));
  const choice = all.filter((word) => shown.has(word.number) || tokens.includes(word.number));
  const one = ({ start: from, end: to, number }) => {
    const text = characters(doc).slice(from, to).join("");
    const toggle = () => step(toggledWord(bench.doc, marking, number));
    return button(text, "Mark or unmark this word", toggle, {
      "aria-pressed": String(tokens.includes(number)),
      id: `word-${number}`,
    });
  };
  return make("span", { class: "words", dir: "auto", role: "group", "aria-label": "Words" }, ...choice.map(one));
}

// Picking a unit with a click, or with Enter on the focused node; Escape cancels.

let picking = null;

function pick(message, take) {
  picking = take;
  document.body.classList.add("choosing");
  say(`${message}: click it, or go to it and press Enter; Escape cancels`);
  if (bench.selected) goTo(nodeAt(bench.selected));
}

function picked(node) {
  const take = picking;
  picking = null;
  document.body.classList.remove("choosing");
  return node ? attempt(() => take([node.start, node.stop])) : say("nothing changed");
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
