// The folder: its files with their states, and the agreement of two annotators. The service stores states on disk.

const folder = { files: [], agreement: null, guidelines: null, hasRelations: false, names: [], hasOutput: false };
const WIDE = 1100; // pixels
const MARKS = { open: "○", done: "✓", flagged: "⚑" };

const hasFolder = () => Boolean(find("folder"));
const isPairs = () => folder.agreement !== null;

async function refreshFolder() {
  if (!hasFolder()) return;
  const { files, agreement, guidelines, names = [], alone, ...others } = await askJson("/v1/folder");
  Object.assign(folder, { files, agreement, guidelines, names, alone });
  Object.assign(folder, { hasRelations: others.has_relations, hasOutput: others.has_output ?? false });
  find("folder-toggle").hidden = false;
  if (isPairs()) find("files").hidden = true;
  showFolder();
}

// The list entry of the open file.
function currentRow() {
  if (isPairs()) return isAdjudicating() ? folder.files[adjudication.number] : undefined;
  return folder.files.find((one) => one.key === bench.file);
}

function toggleFolder() {
  const panel = find("folder");
  panel.hidden = !panel.hidden;
  find("folder-toggle").setAttribute("aria-pressed", String(!panel.hidden));
  if (panel.hidden) return goTo(bench.selected ? nodeAt(bench.selected) : pictures[0]?.nodes[0]);
  return (listed().find((one) => one.tabIndex === 0) ?? find("folder-find")).focus();
}

function showFolder() {
  if (!hasFolder()) return;
  const { files } = folder;
  const count = (state) => files.filter((one) => one.state === state).length;
  const flagged = count("flagged");
  const canMark = !isPairs() || folder.hasOutput;
  const progress = `${count("done")} of ${files.length} done${flagged ? `, ${flagged} flagged` : ""}`;
  find("folder-title").textContent = canMark ? progress : `${files.length} files by ${folder.names.join(" and ")}`;
  Object.assign(find("folder-bar"), { max: files.length || 1, value: count("done"), hidden: !canMark });
  const row = currentRow();
  for (const [id, state] of Object.entries({ "file-done": "done", "file-flag": "flagged" })) {
    Object.assign(find(id), { hidden: isPairs(), disabled: !row });
    find(id).setAttribute("aria-pressed", String(row?.state === state));
  }
  find("folder-show").hidden = !canMark;
  listRows(row);
  showAgreement(row);
  showGuidelines();
}

const inPercent = (share) => (100 * share).toFixed(1);
const kappaOf = (agreed) => (agreed.kappa === null ? "–" : agreed.kappa.toFixed(2));

function factsOf(row) {
  if (row.error) return "cannot be read";
  if (isPairs()) {
    const progress = row.decided === undefined ? row.disagreements : `${row.decided} of ${row.disagreements}`;
    return `F ${inPercent(row.f1.F)}, ${progress}`;
  }
  const facts = [row.edus && `${row.edus} EDUs`, row.certainty && `p ${row.certainty.toFixed(2)}`];
  return facts.filter(Boolean).join(", ");
}

function listRows(open) {
  const words = find("folder-find").value.trim().toLowerCase();
  const state = find("folder-show").value;
  const shown = folder.files.filter(
    (one) => one.name.toLowerCase().includes(words) && (!state || one.state === state),
  );
  const held = document.activeElement?.closest?.("#folder-list button")?.dataset.number;
  const rows = shown.map((one) => {
    const facts = factsOf(one);
    const file = button("", one.error ?? `${one.name}: ${facts}`, () => openRow(one), {
      "aria-label": [one.name, one.state, facts].filter(Boolean).join(", "),
      tabindex: -1,
      "data-number": one.number,
      ...(one === open && { "aria-current": "true" }),
    });
    file.append(
      make("span", {}, MARKS[one.state]),
      make("span", { class: "name", dir: "auto" }, one.name),
      make("span", { class: "faint" }, facts),
    );
    return make("li", {}, file);
  });
  find("folder-list").replaceChildren(...rows);
  const own = listed();
  const current = own.find((one) => one.hasAttribute("aria-current"));
  const reachable = own.find((one) => one.dataset.number === held) ?? current ?? own[0];
  if (reachable) reachable.tabIndex = 0;
  if (held !== undefined) reachable?.focus();
}

function listed() {
  return [...find("folder-list").querySelectorAll("button")];
}

function openRow(row) {
  if (row.error) throw new Error(row.error);
  return isPairs() ? choosePair(row.number) : chooseLocal(row.key);
}

// Show the folder if the window is wide enough. Returns whether there are pairs, in which case one is opened.
async function startFolder() {
  const isWide = innerWidth > WIDE && (isPairs() || folder.files.length > 1);
  find("folder").hidden = !isWide;
  find("folder-toggle").setAttribute("aria-pressed", String(!find("folder").hidden));
  if (!isPairs()) return false;
  const readable = folder.files.filter((one) => !one.error);
  if (!readable.length) throw new Error("none of the pairs can be compared");
  await openRow(readable.find((one) => one.state === "open") ?? readable[0]);
  return true;
}

// The next open file after this one, in the order of the list.
function nextOpen() {
  const at = folder.files.indexOf(currentRow());
  const order = [...folder.files.slice(at + 1), ...folder.files.slice(0, Math.max(at, 0))];
  const next = order.find((one) => one.state === "open" && !one.error);
  if (!next) throw new Error("no open files are left");
  return openRow(next);
}

// Set the state of the file, or reset it if it has that state already. A file is saved before it is marked as done.
async function markFile(state) {
  const row = currentRow();
  if (isPairs()) throw new Error("a pair is done when everything is decided");
  if (!row) throw new Error("open a file of the folder first");
  const next = row.state === state ? "open" : state;
  if (next === "done" && (isDirty() || !row.has_tree)) await store();
  if (isDirty() && next === "done") return; // saving has failed or asked a question
  await askJson(`/v1/folder/${row.key}`, { state: next }, "PUT");
  await refreshFolder();
  const unfit = next === "done" && misfits().length;
  const hint = unfit ? `; ${unfit} ${unfit === 1 ? "unit does" : "units do"} not fit the project` : "";
  say(`${row.name}: ${next}${hint}. ${find("folder-title").textContent}`);
}

// Agreement: over the folder, and in the open file.

function showAgreement(row) {
  const place = find("agreement");
  if (!isPairs()) return place.replaceChildren();
  const head = ["", "S", "N", "R", "F", "κ nuc", "κ rel"].map((name) => make("th", { scope: "col" }, name));
  const line = (name, { f1, kappa }) => {
    const scores = ["S", "N", "R", "F"].map((aspect) => inPercent(f1[aspect]));
    const cells = [...scores, kappaOf(kappa.nuclearity), kappaOf(kappa.relation)];
    return make("tr", {}, make("th", { scope: "row" }, name), ...cells.map((cell) => make("td", {}, cell)));
  };
  const caption = make("caption", { title: folder.agreement.labels ?? "" }, `Agreement of ${folder.names.join(" and ")}`);
  const body = [folder.agreement.f1 && line("folder", folder.agreement), row?.f1 && line("file", row)].filter(Boolean);
  const table = make("table", {}, caption, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body));
  const alone = Object.values(folder.alone).reduce((sum, names) => sum + names.length, 0);
  const note = alone ? [make("p", { class: "faint" }, `${alone} files are in one folder only and are left out`)] : [];
  return place.replaceChildren(table, ...note);
}

// Checks: units whose relation is not in the project, or not with this nuclearity.

function misfits() {
  if (!folder.hasRelations || !bench.doc?.tree) return [];
  const allowed = new Map();
  for (const { relation, nuclearity } of modelInUse().labels) {
    allowed.set(relation, [...(allowed.get(relation) ?? []), nuclearity]);
  }
  return places(bench.doc.tree)
    .filter(isUnit)
    .flatMap((place) => {
      const { node } = place;
      const problems = labelsOf(node).map((name, index) => misfit(allowed, name, nuclearityOf(node, index)));
      const problem = problems.find(Boolean);
      return problem ? [{ range: rangeOf(place), problem }] : [];
    })
    .sort((one, other) => one.range[0] - other.range[0] || other.range[1] - one.range[1]);
}

// The nuclearity of a child's label: one of several nuclei, or a satellite before or after its nucleus.
function nuclearityOf({ nuclearity }, index) {
  if (nuclearity[index] === "N") return "NN";
  return index < nuclearity.indexOf("N") ? "SN" : "NS";
}

function misfit(allowed, name, nuclearity) {
  if (name === "span") return null;
  if (!allowed.has(name)) return name;
  return allowed.get(name).includes(nuclearity) ? null : `${name} as ${nuclearity}`;
}

function showMisfits() {
  const found = misfits();
  const rows = found.map(({ range, problem }) => {
    const text = `${rangeName(range)}: ${problem}`;
    return make("li", {}, button(text, "The project does not define this relation", () => goTo(nodeAt(range))));
  });
  const title = `${found.length} ${found.length === 1 ? "unit does" : "units do"} not fit the project`;
  find("misfits").replaceChildren(...(rows.length ? [make("h2", {}, title), make("ul", {}, ...rows)] : []));
}

function afterDrawing() {
  if (!hasFolder()) return;
  showMisfits();
  showDecisions();
}

function showGuidelines() {
  const { guidelines } = folder;
  const place = find("guidelines");
  if (!guidelines || place.firstChild) return;
  const { link, text } = guidelines;
  const shown = link
    ? make("a", { href: link, target: "_blank", rel: "noopener noreferrer" }, "Guidelines")
    : make("details", {}, make("summary", {}, "Guidelines"), make("div", { class: "text", tabindex: 0 }, text));
  place.append(shown);
}

// Keys, clicks and the filter.

if (hasFolder()) {
  document.querySelector("main").prepend(find("folder"));
  Object.assign(COMMANDS, {
    b: () => attempt(toggleFolder),
    N: () => attempt(nextOpen),
    D: () => attempt(() => markFile("done")),
    F: () => attempt(() => markFile("flagged")),
  });
  const clicks = { "folder-toggle": "b", "file-next": "N", "file-done": "D", "file-flag": "F" };
  for (const [id, key] of Object.entries(clicks)) {
    find(id).addEventListener("click", () => COMMANDS[key]());
  }
  for (const id of ["folder-find", "folder-show"]) find(id).addEventListener("input", showFolder);
  find("folder-find").addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "Enter") listed()[0]?.focus();
  });
  find("folder-list").addEventListener("keydown", (event) => {
    const rows = listed();
    const at = rows.indexOf(event.target.closest("button"));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    rows[Math.max(0, Math.min(to, rows.length - 1))]?.focus();
  });
  for (const [names, meaning] of [
    ["b, N", "show the files; go to the next open file"],
    ["D, F", "save and mark as done; flag"],
  ]) {
    keys.querySelector("dl").append(make("dt", {}, names), make("dd", {}, meaning));
  }
}
