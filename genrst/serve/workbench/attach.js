// Attaching: the source and the possible targets are marked. Arrow keys go from target to target and Enter takes one;
// so does a click, or dropping the source on it. Escape leaves it.

let choosing = null;
const FAR = 6; // pixels that make a drag

function chooseTarget() {
  const range = selectedRange();
  const found = targets(bench.doc.tree, range);
  if (!found.length) throw new Error("there is nothing else to attach it to");
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
  say(`attach ${what} to ${rangeName(target)}? ${place}: arrow keys, Enter or a click; Escape leaves it`);
}

function choose(node) {
  const { range, found } = choosing;
  const one = found.find(({ shown }) => isAt(node, shown));
  if (!one) return say("that is not next to it; choose one of the marked units", true);
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
  say("left as it was");
}

// Before the page's own answer to a click: the node that is clicked is not the selected one, but what it belongs to.
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

// Dragging a unit to what it belongs to, by a mouse or a pen; a finger scrolls.

let drag = null;

pane.addEventListener("pointerdown", (event) => {
  const node = nodeOf(event.target);
  if (!node || event.button || event.pointerType === "touch" || choosing || bench.other || bench.preview) return;
  drag = { node, x: event.clientX, y: event.clientY, isOn: false };
});

document.addEventListener("pointermove", (event) => {
  if (!drag) return;
  if (!drag.isOn && Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > FAR) {
    drag.isOn = true;
    bench.selected = [drag.node.start, drag.node.stop];
    attempt(() => {
      chooseTarget();
      say(`drop EDUs ${rangeName(bench.selected)} on one of the marked units`);
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
  // The click that ends a drag is none.
  const swallow = (click) => click.stopPropagation();
  document.addEventListener("click", swallow, { capture: true, once: true });
  setTimeout(() => document.removeEventListener("click", swallow, true));
});
