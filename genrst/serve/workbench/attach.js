// Attaching a unit: the source and the possible targets are marked. Arrow keys move between targets; Enter, a click, or
// dropping the source on a target attaches it. Escape cancels.

let choosing = null;
const FAR = 6; // pixels of movement that start a drag

function chooseTarget() {
  const range = selectedRange();
  const found = targets(bench.doc.tree, range);
  if (!found.length) throw new Error("there is no other unit to attach it to");
  choosing = { range, found, at: 0 };
  const names = new Set(found.map((one) => one.shown.join("-")));
  for (const node of pictures[0].nodes) {
    const name = `${node.start}-${node.stop}`;
    node.rect.classList.toggle("target", names.has(name));
    node.rect.classList.toggle("source", name === range.join("-"));
  }
  document.body.classList.add("choosing");
}

function startChoosing() {
  chooseTarget();
  showTarget();
}

// Show the target that Enter would take.
function showTarget() {
  const { range, found, at } = choosing;
  const { target, shown } = found[at];
  goTo(nodeAt(shown));
  const what = `EDU${range[1] - range[0] > 1 ? "s" : ""} ${rangeName(range)}`;
  const place = `${at + 1} of ${found.length}`;
  say(`attach ${what} to ${rangeName(target)}? ${place}; arrow keys: next; Enter or click: attach; Escape: cancel`);
}

function choose(node) {
  const { range, found } = choosing;
  const one = found.find(({ shown }) => isAt(node, shown));
  if (!one) return say("not an adjacent unit; choose one of the marked units", true);
  stopChoosing();
  return attempt(() => {
    const doc = attached(bench.doc, range, one.target);
    say(`attached to ${rangeName(one.target)}`);
    return step(doc, { select: newest(doc) });
  });
}

function stopChoosing() {
  choosing = null;
  document.body.classList.remove("choosing");
  for (const node of pictures[0]?.nodes ?? []) node.rect.classList.remove("target", "source", "over");
}

function leaveChoosing() {
  const { range } = choosing;
  stopChoosing();
  goTo(nodeAt(range));
  say("nothing changed");
}

// Runs before the page's own click handler, because the clicked node is the target, not a new selection.
document.addEventListener(
  "click",
  (event) => {
    const node = choosing && (nodeOf(event.target) ?? leafOf(event.target));
    if (!node) return;
    event.stopPropagation();
    choose(node);
  },
  true,
);

const TURNS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

document.addEventListener(
  "keydown",
  (event) => {
    if (!choosing) return;
    const n = choosing.found.length;
    if (event.key === "Escape") leaveChoosing();
    else if (event.key in TURNS) {
      choosing.at = (choosing.at + TURNS[event.key] + n) % n;
      showTarget();
    } else if (event.key === "Enter" && nodeOf(event.target)) choose(nodeOf(event.target));
    else return;
    event.stopPropagation();
    event.preventDefault();
  },
  true,
);

// Dragging a unit to its target, with a mouse or a pen; touch scrolls.

let drag = null;

pane.addEventListener("pointerdown", (event) => {
  const node = nodeOf(event.target);
  if (!node || event.button || event.pointerType === "touch" || choosing || picking) return;
  if (bench.other || bench.preview) return;
  drag = { node, x: event.clientX, y: event.clientY, isOn: false };
});

document.addEventListener("pointermove", (event) => {
  if (!drag) return;
  if (!drag.isOn && Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > FAR) {
    drag.isOn = true;
    bench.selected = [drag.node.start, drag.node.stop];
    attempt(() => {
      chooseTarget();
      say(`drop EDUs ${rangeName(bench.selected)} on a marked unit`);
    });
  }
  if (!drag.isOn || !choosing) return;
  const over = nodeOf(document.elementFromPoint(event.clientX, event.clientY) ?? pane);
  for (const node of pictures[0].nodes) node.rect.classList.toggle("over", node === over);
});

document.addEventListener("pointerup", (event) => {
  const { isOn } = drag ?? {};
  drag = null;
  if (!isOn || !choosing) return;
  const node = nodeOf(document.elementFromPoint(event.clientX, event.clientY) ?? pane);
  if (node && choosing.found.some(({ shown }) => isAt(node, shown))) choose(node);
  else leaveChoosing();
  // Ignore the click event at the end of a drag.
  const swallow = (click) => click.stopPropagation();
  document.addEventListener("click", swallow, { capture: true, once: true });
  setTimeout(() => document.removeEventListener("click", swallow, true));
});
