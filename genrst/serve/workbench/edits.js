// Edits: functions that take a document and return the edited one, or throw an Error with a message for the user.
// Documents are in the JSON format of genrst and are never changed in place.

// List the nodes of a tree in preorder, each with its range of EDUs, its parent and its index among its siblings.
function places(tree) {
  const found = [];
  const visit = (node, parent, index) => {
    const place = { node, parent, index, start: node.edu, stop: node.edu + 1 };
    found.push(place);
    if (node.children) {
      const parts = node.children.map((child, number) => visit(child, place, number));
      [place.start, place.stop] = [parts[0].start, parts.at(-1).stop];
    }
    return place;
  };
  if (tree) visit(tree, null, 0);
  return found;
}

function isUnit(place) {
  return Boolean(place.node.children);
}

function isAt(place, [start, stop]) {
  return place.start === start && place.stop === stop;
}

function placeAt(tree, range) {
  const place = places(tree).find((one) => isAt(one, range));
  if (!place) throw new Error(`there is no unit over EDUs ${rangeName(range)}`);
  return place;
}

function rangeName([start, stop]) {
  return stop - start === 1 ? String(start + 1) : `${start + 1}–${stop}`;
}

// Return the tree with the node at a place replaced.
function replaced(place, node) {
  let tree = node;
  for (let at = place; at.parent; at = at.parent) {
    tree = { ...at.parent.node, children: at.parent.node.children.with(at.index, tree) };
  }
  return tree;
}

// Return the tree without a node. A unit with one remaining child is replaced by that child.
function removed(place) {
  const { node } = place.parent;
  if (node.children.length === 2) return replaced(place.parent, node.children[1 - place.index]);
  const without = (row) => row.filter((_, index) => index !== place.index);
  return replaced(
    place.parent,
    makeUnit(without(node.children), without([...node.nuclearity]), without(labelsOf(node))),
  );
}

// Units have a label for each child: a satellite's relation, the shared relation of nuclei, or "span" for one nucleus.

function labelsOf(unit) {
  return unit.relations ?? followingLabels(unit.relation, [...unit.nuclearity]);
}

function followingLabels(relation, letters) {
  const isAlone = letters.filter((letter) => letter === "N").length === 1;
  return letters.map((letter) => (letter === "N" && isAlone ? "span" : relation));
}

// Make a unit of these children. Invalid labels are corrected: there is a nucleus, and only a single one is "span".
function makeUnit(children, roles, names) {
  const letters = roles.includes("N") ? roles : roles.with(0, "N");
  const isAlone = letters.filter((letter) => letter === "N").length === 1;
  const common = names.find((name) => name !== "span") ?? "joint";
  const labels = letters.map((letter, index) => {
    if (letter === "N" && isAlone) return "span";
    return names[index] === "span" ? common : names[index];
  });
  const relation = labels[lastSatellite(letters) ?? 0];
  const unit = { relation, nuclearity: letters.join(""), children };
  const follows = followingLabels(relation, letters).every((label, index) => label === labels[index]);
  return follows ? unit : { ...unit, relations: labels };
}

// The outermost satellite, counted from the nuclei; the right one if there are two at equal distance.
function lastSatellite(letters) {
  const [before, after] = [letters.indexOf("N"), letters.length - 1 - letters.lastIndexOf("N")];
  if (!before && !after) return undefined;
  return after >= before ? letters.length - 1 : 0;
}

// Labels.

// Change the relation of a unit, or of one child if its number is given, and its nuclearity; both are optional.
function relabelled(doc, range, { relation, nuclearity, child }) {
  const place = placeAt(doc.tree, range);
  const { node } = place;
  const letters = [...(nuclearity ?? node.nuclearity)];
  if (letters.length !== node.children.length || !letters.includes("N")) throw new Error("a unit must have a nucleus");
  let labels = labelsOf(node);
  if (relation !== undefined) labels = labels.map((label, index) => ((child ?? index) === index ? relation : label));
  return kept({ ...doc, tree: replaced(place, makeUnit(node.children, letters, labels)) }, [range]);
}

// Structure.

// Attach a unit to an adjacent unit of any size; it keeps its role and its relation. The target is looked up in the
// tree without the moved unit, so it can also be the remainder of a unit that contained it.
function attached(doc, range, target) {
  const place = placeAt(doc.tree, range);
  if (!place.parent) throw new Error("the whole document cannot be attached");
  if (target[1] !== range[0] && target[0] !== range[1]) throw new Error("attach a unit to an adjacent one");
  if (isAttached(place, target)) throw new Error("these units are already attached to each other");
  const { node } = place.parent;
  const [role, label] = [node.nuclearity[place.index], labelsOf(node)[place.index]];
  const relation = label === "span" ? node.relation : label;
  const other = role === "N" && node.nuclearity.includes("S") ? "S" : "N";
  const rest = removed(place);
  const goal = placeAt(rest, target);
  const isAfter = target[1] === range[0];
  const pair = isAfter ? [goal.node, place.node] : [place.node, goal.node];
  const unit = makeUnit(pair, isAfter ? [other, role] : [role, other], [relation, relation]);
  return kept({ ...doc, tree: replaced(goal, unit) }, [around(range, target)]);
}

function isAttached(place, target) {
  const { node } = place.parent;
  return node.children.length === 2 && String(around(rangeOf(place), target)) === String(rangeOf(place.parent));
}

function around(range, other) {
  return [Math.min(range[0], other[0]), Math.max(range[1], other[1])];
}

// The units to which a unit can be attached, nearest first, each with the unit that shows it in the current tree.
function targets(tree, range) {
  const place = placeAt(tree, range);
  if (!place.parent) return [];
  const names = new Set(places(tree).map((one) => String(rangeOf(one))));
  return places(removed(place))
    .map(rangeOf)
    .filter((one) => (one[1] === range[0] || one[0] === range[1]) && !isAttached(place, one))
    .sort((left, right) => left[1] - left[0] - (right[1] - right[0]))
    .map((target) => ({ target, shown: names.has(String(target)) ? target : around(range, target) }));
}

function rangeOf(place) {
  return [place.start, place.stop];
}

// Join a unit with the next one: two of several siblings are grouped into a new unit, others are attached.
function joined(doc, range) {
  const place = placeAt(doc.tree, range);
  const siblings = place.parent?.node.children ?? [];
  if (siblings.length > 2 && place.index < siblings.length - 1) return grouped(doc, place);
  const isSibling = (one) => one.parent && one.parent.node === place.parent?.node;
  const next = places(doc.tree).find((one) => one.start === range[1] && !isSibling(one));
  if (!next) throw new Error("there is no next unit to join it with");
  return attached(doc, range, rangeOf(next));
}

function grouped(doc, place) {
  const { node } = place.parent;
  const pair = (row) => row.slice(place.index, place.index + 2);
  const merged = (row, one) => [...row.slice(0, place.index), one, ...row.slice(place.index + 2)];
  const [letters, labels] = [[...node.nuclearity], labelsOf(node)];
  const inner = makeUnit(pair(node.children), pair(letters), pair(labels));
  const role = pair(letters).includes("N") ? "N" : "S";
  const outer = makeUnit(merged(node.children, inner), merged(letters, role), merged(labels, pair(labels)[0]));
  const tree = replaced(place.parent, outer);
  return kept({ ...doc, tree }, [rangeOf(places(tree).find((one) => one.node === inner))]);
}

// Split a unit: its children move to its parent.
function dissolved(doc, range) {
  const place = placeAt(doc.tree, range);
  if (!isUnit(place)) throw new Error("an EDU has no parts; split its text instead");
  if (!place.parent) throw new Error("the top unit cannot be split");
  const [outer, inner] = [place.parent.node, place.node];
  const [role, label] = [outer.nuclearity[place.index], labelsOf(outer)[place.index]];
  const letters = role === "N" ? [...inner.nuclearity] : inner.children.map(() => "S");
  const labels = labelsOf(inner).map((name) => (name === "span" ? label : name));
  const spliced = (row, parts) => [...row.slice(0, place.index), ...parts, ...row.slice(place.index + 1)];
  const unit = makeUnit(
    spliced(outer.children, inner.children),
    spliced([...outer.nuclearity], letters),
    spliced(labelsOf(outer), labels),
  );
  const others = (doc.constraints ?? []).filter((one) => !isAt({ start: one.edus[0], stop: one.edus[1] }, range));
  return pruned({
    ...doc,
    tree: replaced(place.parent, unit),
    constraints: [...others, { edus: range, is_unit: false }],
  });
}

// Frozen units. They are stored as constraints of the document, so that files keep them and all parsers respect them.

const frozenNames = new WeakMap(); // a cache, by list of constraints

function isFrozen(doc, range) {
  const list = doc.constraints ?? [];
  if (!frozenNames.has(list)) {
    const held = list.filter((one) => one.is_unit !== false);
    frozenNames.set(list, new Set(held.map((one) => String(one.edus))));
  }
  return frozenNames.get(list).has(String(range));
}

// Whether all of a tree that no parser made is frozen, which is the default for such trees.
function isWholeFrozen(doc) {
  return Boolean(doc.tree) && !doc.model && places(doc.tree).every((one) => !isUnit(one) || isFrozen(doc, rangeOf(one)));
}

function frozenWhole(doc) {
  return doc.tree?.children ? frozen(doc, rangeOf(places(doc.tree)[0]), { deep: true }) : doc;
}

// The document as it is saved, without the constraints of a wholly frozen tree, which are implied.
function outgoing(doc) {
  if (!isWholeFrozen(doc)) return doc;
  return { ...doc, constraints: doc.constraints?.filter((one) => one.is_unit === false) };
}

function fixedUnit(place) {
  const { relation, nuclearity } = place.node;
  const edus = rangeOf(place);
  return nuclearity.length === 2 ? { edus, relation, nuclearity } : { edus };
}

// Freeze or unfreeze a unit, with `deep` also all units inside it.
function frozen(doc, range, { deep = false, thaw = false } = {}) {
  const place = placeAt(doc.tree, range);
  const inside = places(place.node).filter(isUnit);
  const affected = deep ? inside : inside.slice(0, 1);
  if (!affected.length) throw new Error("an EDU cannot be frozen; re-parsing changes only units");
  const names = new Set(affected.map((one) => String(rangeOf(one))));
  const others = (doc.constraints ?? []).filter((one) => !names.has(String(one.edus)));
  return { ...doc, constraints: thaw ? others : [...others, ...affected.map(fixedUnit)] };
}

// Freeze the corrected units, and drop constraints for units that no longer exist.
function kept(doc, ranges) {
  return pruned(ranges.reduce((one, range) => frozen(one, range), pruned(doc)));
}

// Make constraints, signals and secondary edges match the tree; drop those whose units no longer exist.
function pruned(doc) {
  const nodes = new Map(places(doc.tree).map((one) => [String(rangeOf(one)), one]));
  const isThere = (range) => nodes.has(String(range));
  const holds = (one) => one.edus[1] - one.edus[0] > 1 && (one.is_unit ?? true) === isThere(one.edus);
  const current = (one) => {
    if (one.is_unit === false) return one;
    const { node } = nodes.get(String(one.edus));
    const isTrue = (name) => one[name] === undefined || one[name] === node[name];
    return isTrue("relation") && isTrue("nuclearity") && node.children.length === 2
      ? one
      : fixedUnit(nodes.get(String(one.edus)));
  };
  const result = { ...doc, constraints: (doc.constraints ?? []).filter(holds).map(current) };
  if (doc.signals)
    result.signals = doc.signals.filter((one) => isThere(one.unit) && (!one.target || isThere(one.target)));
  if (doc.secondary_edges) {
    result.secondary_edges = doc.secondary_edges.filter((one) => isThere(one.source) && isThere(one.target));
  }
  return result;
}

// Re-parsing. A parser builds binary trees with its own relations, so constraints are converted to these, and frozen
// units are restored in its result.

function demanded(doc, model) {
  const units = new Map(
    places(doc.tree)
      .filter(isUnit)
      .map((one) => [String(rangeOf(one)), one]),
  );
  return (doc.constraints ?? []).flatMap((one) => {
    const place = units.get(String(one.edus));
    if (one.is_unit === false || !place) return [one];
    if (place.node.children.length === 2) return [{ edus: one.edus, ...possibleLabel(one, model) }];
    const parts = partsOf(place).filter(isUnit);
    return [{ edus: one.edus }, ...parts.map((part) => ({ edus: rangeOf(part) }))];
  });
}

// The part of a label that the model can use as a constraint.
function possibleLabel({ relation, nuclearity }, { labels, fine, known = labels }) {
  const name = fine[relation] ?? relation;
  const fits = known.filter((label) => nuclearity === undefined || label.nuclearity === nuclearity);
  if (fits.some((label) => label.relation === name)) return { relation, nuclearity };
  return fits.length ? { nuclearity } : {};
}

function restored(before, tree) {
  const ours = new Map(
    places(before.tree)
      .filter(isUnit)
      .map((one) => [String(rangeOf(one)), one]),
  );
  const theirs = new Map(places(tree).map((one) => [String(rangeOf(one)), one]));
  const build = (range) => {
    const [own, place] = [ours.get(range), theirs.get(range)];
    if (!isUnit(place)) return place.node;
    const isKept = own && isFrozen(before, rangeOf(own));
    const source = isKept && own.node.children.length > 2 ? own : place;
    const children = partsOf(source).map((part) => build(String(rangeOf(part))));
    if (!isKept) return { ...place.node, children };
    const { relation, nuclearity, relations } = own.node;
    const { probability } = place.node;
    return {
      relation,
      nuclearity,
      children,
      ...(relations && { relations }),
      ...(probability !== undefined && { probability }),
    };
  };
  return build(String(rangeOf(places(tree)[0])));
}

function partsOf(place) {
  return places(place.node).filter((one) => one.parent?.node === place.node);
}

// The units of the second tree that are not in the first one with the same label.
function changes(before, after) {
  const name = (one) => `${rangeOf(one)} ${one.node.nuclearity} ${labelsOf(one.node)}`;
  const known = new Set(places(before).filter(isUnit).map(name));
  return places(after)
    .filter((one) => isUnit(one) && !known.has(name(one)))
    .map(rangeOf);
}

// Describe the changes: each new unit, and the unit it replaces.
function describeChanges(before, after) {
  const old = new Map(places(before).map((one) => [String(rangeOf(one)), one]));
  const name = ({ node }) => `${node.relation} ${node.nuclearity}`;
  return changes(before, after).map((range) => {
    const [now, then] = [placeAt(after, range), old.get(String(range))];
    return `${rangeName(range)}: ${name(now)} (${then ? `currently ${name(then)}` : "currently no unit"})`;
  });
}

// Describe the signals and secondary edges that an edit has removed; an empty string if there are none.
function losses(before, after) {
  const kinds = { signals: "signal", secondary_edges: "secondary edge" };
  return Object.entries(kinds)
    .map(([key, name]) => [(before[key]?.length ?? 0) - (after[key]?.length ?? 0), name])
    .filter(([n]) => n > 0)
    .map(([n, name]) => `${n} ${name}${n > 1 ? "s" : ""}`)
    .join(" and ");
}
