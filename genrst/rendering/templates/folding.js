// A picture whose units can be folded. Folding only moves the parts of the laid-out picture along one axis.

class Picture {
  constructor(svg, tree, zoom) {
    Object.assign(this, tree); // axis, size, mirrored, nodes
    this.svg = svg;
    this.folded = new Set();
    this.zoom = zoom;
    const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    this.full = { width, height };
    this.across = this.axis === "x";
    this.link();
    this.drawAreas();
    this.refresh();
  }

  // Derive children, levels and the ends of subtrees from the nodes, which are listed parents first.
  link() {
    this.byRange = new Map();
    this.nodes.forEach((node, index) => {
      Object.assign(node, { index, children: [], level: 1, end: index + 1, picture: this });
      node.up = node.parent < 0 ? null : this.nodes[node.parent];
      this.byRange.set(`${node.start}-${node.stop}`, node);
      if (node.up) {
        node.level = node.up.level + 1;
        node.up.children.push(node);
      }
    });
    for (const node of this.nodes.slice().reverse()) {
      if (node.up) node.up.end = Math.max(node.up.end, node.end);
    }
    this.roots = this.nodes.filter((node) => !node.up);
    for (const group of this.svg.querySelectorAll(".node")) {
      const node = this.byRange.get(`${group.dataset.start}-${group.dataset.stop}`);
      if (node) node.group = group;
    }
  }

  // A rectangle per node below the drawing, for pointer events, focus and highlighting. When a picture is redrawn, the
  // rectangles of nodes that still exist are kept.
  drawAreas() {
    this.svg.querySelector(":scope > title")?.remove();
    this.svg.setAttribute("role", "group");
    this.svg.classList.toggle("mirrored", this.mirrored);
    const layer = this.svg.querySelector(".areas") ?? createSvg("g", { class: "areas", role: "tree" });
    setSvg(layer, { "aria-label": this.svg.getAttribute("aria-label") });
    const old = new Map([...layer.children].map((rect) => [`${rect.dataset.start}-${rect.dataset.stop}`, rect]));
    let next = layer.firstElementChild;
    for (const node of this.nodes) {
      const siblings = node.up ? node.up.children : this.roots;
      node.rect = old.get(`${node.start}-${node.stop}`) ?? createSvg("rect", {});
      setSvg(node.rect, {
        class: node.children.length ? "unit" : "leaf",
        role: "treeitem",
        tabindex: node.index ? -1 : 0,
        "aria-label": node.title,
        "aria-level": node.level,
        "aria-setsize": siblings.length,
        "aria-posinset": siblings.indexOf(node) + 1,
        "data-index": node.index,
        "data-start": node.start,
        "data-stop": node.stop,
      });
      if (node.rect === next) next = next.nextElementSibling;
      else layer.insertBefore(node.rect, next);
      old.delete(`${node.start}-${node.stop}`);
    }
    for (const rect of old.values()) rect.remove();
    if (!layer.parentNode) this.svg.querySelector(".paper").after(layer);
  }

  // The node itself, or the folded unit that hides it.
  visible(node) {
    let shown = node;
    for (let unit = node.up; unit; unit = unit.up) if (this.folded.has(unit)) shown = unit;
    return shown;
  }

  // Fold exactly the units below this level.
  foldBelow(levels) {
    this.folded = new Set(this.nodes.filter((node) => node.children.length && node.level > levels));
    this.refresh();
  }

  setFolded(node, isFolded) {
    if (isFolded) this.folded.add(node);
    else this.folded.delete(node);
    this.refresh();
  }

  // Update the visibility and position of all parts.
  refresh() {
    const shown = [];
    for (let index = 0; index < this.nodes.length; ) {
      const node = this.nodes[index];
      shown.push(node);
      index = this.folded.has(node) ? node.end : index + 1;
    }
    const move = this.mover(shown.filter((node) => this.folded.has(node)));
    const isShown = new Set(shown);
    const wasWhole = this.isWhole ?? true;
    this.isWhole = !this.folded.size;
    this.isMoved = !(wasWhole && this.isWhole); // parts that were never folded are still where they were drawn
    for (const node of this.nodes) {
      const isFolded = this.folded.has(node);
      for (const element of [node.rect, node.group]) {
        element?.classList.toggle("gone", !isShown.has(node));
        element?.classList.toggle("folded", isFolded);
      }
      if (node.children.length) node.rect.setAttribute("aria-expanded", String(!isFolded));
      if (isShown.has(node)) this.place(node, isFolded, move);
    }
    this.shift = this.across || this.mirrored || !this.folded.size ? 0 : this.roomBeforeText(shown);
    if (!this.across && !this.mirrored && this.isMoved) for (const node of shown) this.moveText(node);
    this.resize(shown, move);
  }

  // Map a position along the axis from the unfolded picture to the folded one.
  mover(units) {
    const ends = (node) => (this.across ? [node.area[0], node.area[2]] : [node.area[1], node.area[3]]);
    const corners = [[0, 0]];
    const near = 0.4 * this.size; // lines that meet the unit keep their shape
    let lost = 0;
    for (const unit of units.sort((left, right) => ends(left)[0] - ends(right)[0])) {
      const [from, to] = ends(unit);
      const middle = from - lost + this.size / 2;
      corners.push([from, from - lost], [unit.anchor - near, middle - near], [unit.anchor + near, middle + near]);
      lost += to - from - this.size;
      corners.push([to, to - lost]);
    }
    const total = this.across ? this.full.width : this.full.height;
    corners.push([total, total - lost]);
    return (place) => {
      let low = 0;
      for (let high = corners.length - 1; high - low > 1; ) {
        const middle = (low + high) >> 1;
        if (corners[middle][0] <= place) low = middle;
        else high = middle;
      }
      const [from, to] = [corners[low], corners[low + 1]];
      const slope = to[0] > from[0] ? (to[1] - from[1]) / (to[0] - from[0]) : 1;
      return from[1] + (place - from[0]) * slope;
    };
  }

  place(node, isFolded, move) {
    const [left, top, right, bottom] = node.area;
    const box = this.across ? [move(left), top, move(right), bottom] : [left, move(top), right, move(bottom)];
    if (isFolded && this.across) box[3] = node.folded;
    node.box = box;
    node.at = this.across ? [move(node.anchor), top] : [left, move(node.anchor)];
    setSvg(node.rect, { x: box[0], y: box[1], width: box[2] - box[0], height: box[3] - box[1] });
    if (!node.group || !this.isMoved) return;
    for (const path of node.group.querySelectorAll("path")) this.placePath(path, move);
    for (const text of node.group.querySelectorAll("text")) this.placeText(text, node, move);
    if (this.across) this.hideHanging(node, isFolded);
  }

  // Hide the lines to the nuclei of a folded unit and their relation, to make room for the summary.
  hideHanging(node, isFolded) {
    const isBelow = (y) => y > node.area[1] + 6;
    for (const path of node.group.querySelectorAll("path")) {
      path.classList.toggle("gone", isFolded && isBelow(Number(path.whole.match(/,([\d.]+)/)[1])));
    }
    for (const text of node.group.querySelectorAll(".relation")) {
      text.classList.toggle("gone", isFolded && isBelow(Number(text.getAttribute("y"))));
    }
  }

  placePath(path, move) {
    path.whole ??= path.getAttribute("d");
    const place = this.across && path.classList.contains("satellite") ? arcMover(path.whole, move) : move;
    const moved = path.whole.replace(/(-?[\d.]+),(-?[\d.]+)/g, (_, x, y) =>
      this.across ? `${round(place(Number(x)))},${y}` : `${x},${round(place(Number(y)))}`,
    );
    path.setAttribute("d", moved);
  }

  placeText(text, node, move) {
    text.whole ??= Number(text.getAttribute(this.axis));
    const arc = this.across && text.classList.contains("relation") && node.group.querySelector(".satellite");
    const isOnArc = arc && Math.abs(text.whole - node.anchor) > 1;
    text.setAttribute(this.axis, round(isOnArc ? placeOnArc(text, arc, move) : move(text.whole)));
  }

  // In the compact style: how far the texts can move towards the tree after its deepest units are folded.
  roomBeforeText(shown) {
    let right = 0;
    for (const { group } of shown) {
      for (const line of group?.querySelectorAll(".leader, .dot") ?? []) right = Math.max(right, endsOf(line.whole)[0] + 16);
      for (const text of group?.querySelectorAll(".relation") ?? []) {
        text.length ??= text.getComputedTextLength();
        right = Math.max(right, Number(text.getAttribute("x")) + text.length);
      }
    }
    const numbers = this.nodes.filter((node) => !node.children.length).map((node) => node.area[0]);
    return Math.max(0, Math.min(...numbers) - right - 16);
  }

  moveText(node) {
    const { group, rect, box } = node;
    const isLeaf = !node.children.length;
    setSvg(rect, { x: box[0] - (isLeaf ? this.shift : 0), width: box[2] - box[0] - (isLeaf ? 0 : this.shift) });
    for (const part of group?.querySelectorAll(".text, .number, .summary, .rule") ?? []) {
      setSvg(part, { transform: `translate(${round(-this.shift)} 0)` });
    }
    for (const line of group?.querySelectorAll(".leader, .fold") ?? []) {
      const [x, y, end] = line.getAttribute("d").match(/-?[\d.]+/g).map(Number);
      line.setAttribute("d", `M${x},${y}L${round(Math.max(x, end - this.shift))},${y}`);
    }
  }

  resize(shown, move) {
    const { width, height } = this.full;
    const bottom = () => shown.reduce((lowest, node) => Math.max(lowest, node.box[3]), 0);
    this.width = this.across ? move(width) : width - this.shift;
    this.height = this.across ? (this.folded.size ? bottom() + 12 : height) : move(height);
    setSvg(this.svg, { viewBox: `0 0 ${round(this.width)} ${round(this.height)}` });
    setSvg(this.svg.querySelector(".paper"), { width: this.width, height: this.height });
    this.setZoom(this.zoom);
  }

  setZoom(zoom) {
    this.zoom = zoom;
    setSvg(this.svg, { width: this.width * zoom, height: this.height * zoom });
  }
}

// Arrows keep the shape of their ends; only the part in between becomes shorter.
function arcMover(path, move) {
  const [start, end] = endsOf(path);
  const half = Math.abs(move(end) - move(start)) / 2;
  const clamp = (distance) => Math.max(-half, Math.min(distance, half));
  const isStart = (place) => Math.abs(place - start) <= Math.abs(place - end);
  return (place) => (isStart(place) ? move(start) + clamp(place - start) : move(end) + clamp(place - end));
}

// The label of an arrow stays at its middle, and is condensed if the arrow has become too short for it.
function placeOnArc(text, arc, move) {
  text.removeAttribute("textLength");
  const [before, now] = [endsOf(arc.whole), endsOf(arc.whole).map(move)];
  const [length, full] = [now[1] - now[0], before[1] - before[0]];
  if (Math.abs(length - full) < 1) return now[0] + text.whole - before[0];
  const room = Math.abs(length) - 8;
  if (text.getComputedTextLength() > room) setSvg(text, { textLength: room, lengthAdjust: "spacingAndGlyphs" });
  return now[0] + Math.max(-300, Math.min(length / 2, 300));
}

function endsOf(path) {
  const numbers = path.match(/-?[\d.]+/g).map(Number);
  return [numbers[0], numbers.at(-2)];
}

function round(number) {
  return Math.round(number * 10) / 10;
}

// Only set attributes that change, because browsers redo the layout even if the value is the same.
function setSvg(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    const text = String(typeof value === "number" ? round(value) : value);
    if (element.getAttribute(name) !== text) element.setAttribute(name, text);
  }
}

function createSvg(name, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  setSvg(element, attributes);
  return element;
}
