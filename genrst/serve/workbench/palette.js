// The palette: a searchable list of all relations with definitions and examples. Enter chooses, Escape cancels.

function relationNames() {
  const { labels, fine } = modelInUse();
  const used = places(bench.doc.tree)
    .filter(isUnit)
    .flatMap((one) => labelsOf(one.node));
  const beside = (bench.doc.secondary_edges ?? []).map((edge) => edge.relation);
  const names = new Set([...labels.map((label) => label.relation), ...Object.keys(fine), ...used, ...beside]);
  names.delete("span");
  return [...names].sort();
}

// Names that start with the query come first, then names that contain it, then definitions that contain it.
function matching(typed) {
  const words = typed.trim().toLowerCase();
  const rank = (name) => {
    const at = name.toLowerCase().indexOf(words);
    if (at >= 0) return at ? 1 : 0;
    return definitionOf(name).toLowerCase().includes(words) ? 2 : 3;
  };
  const names = relationNames();
  const found = names.filter((name) => rank(name) < 3).sort((one, other) => rank(one) - rank(other));
  return words && !names.includes(typed.trim()) ? [...found, typed.trim()] : found;
}

// Project relations have their own definitions and examples.
function labelOf(name) {
  return modelInUse().labels.find((label) => label.relation === name);
}

function definitionOf(name) {
  const own = labelOf(name)?.definition;
  if (own !== undefined) return own;
  const [definition] = GLOSSARY[name] ?? [""];
  if (!definition) return relationNames().includes(name) ? "" : "a new relation";
  return definition.startsWith("– ") ? `several nuclei: ${definition.slice(2)}` : `the satellite ${definition}`;
}

function exampleOf(name) {
  const { example = GLOSSARY[name]?.[1] ?? "" } = labelOf(name) ?? {};
  return example.split("*").map((part, index) => (index % 2 ? make("em", {}, part) : part));
}

// Choose the relation of a unit; for an EDU or a numbered child, its relation to its parent.
function choosePalette(child) {
  let place = placeAt(bench.doc.tree, selectedRange());
  let number = child;
  if (!isUnit(place)) {
    if (!place.parent) throw new Error("there is no relation to change");
    number = place.parent.node.relations ? place.index : undefined;
    place = place.parent;
  }
  const range = rangeOf(place);
  const now = number === undefined ? place.node.relation : labelsOf(place.node)[number];
  openPalette(now, (relation) => relabel({ relation, child: number }, range));
}

function openPalette(now, take) {
  const [dialog, input, list] = [find("palette"), find("palette-input"), find("palette-list")];
  const before = document.activeElement;
  let [names, active] = [[], 0];
  const move = (to) => {
    active = Math.max(0, Math.min(to, names.length - 1));
    [...list.children].forEach((option, index) => option.setAttribute("aria-selected", String(index === active)));
    input.setAttribute("aria-activedescendant", names.length ? `relation-${active}-option` : "");
    list.children[active]?.scrollIntoView({ block: "nearest" });
  };
  const finish = (name) => {
    dialog.close();
    if (name !== undefined && name !== now) attempt(() => take(name));
  };
  const fill = (to) => {
    names = matching(input.value);
    const option = (name, index) =>
      make(
        "li",
        { role: "option", id: `relation-${index}-option`, click: () => finish(name) },
        make("b", {}, name),
        make("span", { class: "definition" }, definitionOf(name)),
        make("span", { class: "example", dir: "auto" }, ...exampleOf(name)),
      );
    list.replaceChildren(...names.map(option));
    move(to ?? 0);
  };
  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
  input.value = "";
  input.oninput = () => fill();
  dialog.onkeydown = (event) => {
    if (event.key in steps) move(active + steps[event.key]);
    else if (event.key === "Enter") finish(names[active]);
    else return event.stopPropagation();
    event.stopPropagation();
    return event.preventDefault();
  };
  dialog.onclose = () => refocus(before);
  dialog.showModal();
  fill(Math.max(0, relationNames().indexOf(now)));
  input.focus();
}
