// The pair that is looked at: its drawings, the legend, what is lit and told, and what a click on it does.

const view = {
  pair: null, drawing: null, cells: new Map(), focus: null, pinned: null, lit: [], asked: 0, told: null, tallest: 0,
};
const hiddenKinds = new Set();

async function showPair(id) {
  view.asked += 1;
  const mine = view.asked;
  let pair;
  try {
    pair = await source.pair(id, {run: list.filter.run, other: list.filter.other});
  } catch (error) {
    if (mine === view.asked) tellTrouble(error, () => showPair(id));
    return;
  }
  if (mine !== view.asked) return;
  const atMatrix = editor.on && byId("matrix").contains(document.activeElement);
  pair.id = id;
  Object.assign(view, {pair, focus: null, pinned: null, tallest: 0});
  editor.cursor = null;
  pair.hits = hitsOf(pair, list.filter);
  withEdges(pair, editor.on);
  byId("pair-title").textContent = titleOf(pair);
  drawHead(pair);
  redraw();
  if (atMatrix) putCursor(editor, view, {source: 0, target: 0});
  editor.tellState();
  tellAddress();
}

function drawHead(pair) {
  byId("pair-figures").textContent = headline(pair);
  byId("pair-figures").title = editor.on ? headline(pair) : "";
  byId("clear").disabled = !pair.annotation;
  drawLegend(pair);
  const table = byId("table");
  if (table.open) fillTable(table.lastElementChild, pair);
}

// The links of the pair have other kinds now: draw them again where they stand.
function renewPair(turned = false) {
  const {pair} = view;
  if (!pair) return;
  withEdges(pair, editor.on);
  drawHead(pair);
  renewLines(view.drawing, pair);
  const grid = document.querySelector("#matrix table");
  if (grid) view.cells = fillMatrix(grid, pair);
  dressMatrix(editor, view, turned);
  light(view.focus ?? view.pinned);
  list.update(pair);
  editor.tellState();
  desk.corrected();
}

function headline(pair) {
  const parts = [`${pair.source.length} + ${pair.target.length} words`, `${pair.links.length} links`];
  if (pair.annotation) parts.unshift(pair.annotation.done ? "✓\u00a0corrected, done" : "✎\u00a0corrected");
  const reference = referenceOf(pair);
  if (reference) {
    const {aer, precision, recall} = figuresOf(pair.links, reference);
    parts.push(`AER ${percent(aer)}`, `precision ${percent(precision)}`, `recall ${percent(recall)}`);
  }
  if (pair.confidence !== null && pair.confidence !== undefined) parts.push(`mean confidence ${decimal(pair.confidence)}`);
  if (pair.score !== undefined && pair.score !== null) parts.push(`sentence score ${decimal(pair.score)}`);
  return parts.join(" · ");
}

// The legend is also the choice of what is drawn, and tells how many there are.
function drawLegend(pair) {
  const legend = byId("legend");
  const held = document.activeElement?.closest?.("#legend label")?.dataset.kind;
  const entries = kindsOf(pair).map((kind) => {
    const box = make("input", {type: "checkbox", value: kind, checked: !hiddenKinds.has(kind)});
    const sample = draw("svg", {class: `sample line ${kind}`, viewBox: "0 0 30 16", "aria-hidden": "true"},
      draw("path", {class: "stroke", d: "M1 8H29"}),
      draw("use", {href: `#mark-${kind}`, x: 9, y: 2, width: 12, height: 12}));
    const count = make("b", {}, `${pair.counts[kind] || 0}`);
    return make("label", {"data-kind": kind}, box, sample, ` ${kindText(pair, kind)} `, count);
  });
  const alone = pair.edges.filter((edge) => edge.alone).length;
  if (pair.beside && alone) entries.push(make("span", {class: "alonekey"}, `${pair.beside.alone} `, make("b", {}, `${alone}`)));
  legend.firstElementChild.textContent = pair.annotation && !pair.drafting ? "Links, against your corrections" : "Links";
  legend.replaceChildren(legend.firstElementChild, ...entries);
  if (held) legend.querySelector(`[data-kind=${held}] input`)?.focus();
}

function redraw() {
  const {pair} = view;
  if (!pair) return;
  const layout = document.querySelector("input[name=layout]:checked").value;
  byId("matrix").replaceChildren();
  view.drawing = drawWords(byId("lines"), pair, layout);
  view.cells = drawMatrix(byId("matrix"), pair);
  drawLines(view.drawing, pair);
  dressMatrix(editor, view);
  hideKinds();
  light(view.focus);
}

function hideKinds() {
  for (const id of ["lines", "matrix"]) {
    for (const kind of Object.keys(KINDS)) byId(id).classList.toggle(`no-${kind}`, hiddenKinds.has(kind));
  }
}

// Highlight a word or a link with all that belongs to it, everywhere, and tell its reasons.
function light(focus) {
  view.focus = focus;
  byId("reasons").classList.toggle("kept", Boolean(focus) && sameFocus(focus, view.pinned));
  for (const element of view.lit) element.classList.remove("on");
  view.lit = [];
  byId("lines").classList.toggle("focused", Boolean(focus));
  tellReasons(focus);
  if (!focus || !view.drawing) return;
  const words = {source: new Set(), target: new Set()};
  for (const side of ["source", "target"]) if (focus[side] !== undefined) words[side].add(focus[side]);
  for (const edge of view.pair.edges) {
    if (!isOf(edge, focus) || hiddenKinds.has(edge.kind)) continue;
    words.source.add(edge.source);
    words.target.add(edge.target);
    view.lit.push(view.drawing.lines.get(edge), view.cells.get(edge));
  }
  for (const side of ["source", "target"]) {
    for (const index of words[side]) {
      const header = document.querySelector(`#matrix th[data-word="${side} ${index}"]`);
      view.lit.push(view.drawing.words[side][index], header);
    }
  }
  view.lit.push(...crosshair(focus));
  view.lit = view.lit.filter(Boolean);
  for (const element of view.lit) element.classList.add("on");
}

// Not anew where they stand already: what is told may be in use.
function tellReasons(focus) {
  const {pair, told} = view;
  const same = told && told.edges === pair?.edges && (sameFocus(told.focus, focus) || (!told.focus && !focus));
  if (same) return;
  view.told = {edges: pair?.edges, focus};
  showReasons(byId("reasons"), pair, focus);
  keepHeight();
  askWhySoon();
}

// What is told now may be shorter than before: if the page became shorter with it, what is pointed at could move away.
function keepHeight() {
  const height = byId("reasons").offsetHeight;
  view.tallest = Math.max(view.tallest, height);
  byId("table").style.marginBottom = `${view.tallest - height}px`;
}

// Ask the server for the reasons in words, once the pointer rests on a link or a cell.
let whyTimer = null;
function askWhySoon() {
  clearTimeout(whyTimer);
  if (source.kind !== "server" || !view.focus || !bothSides(view.focus)) return;
  const {pair, focus} = view;
  whyTimer = setTimeout(async () => {
    const cell = cellKey(focus.source, focus.target);
    try {
      if (!pair.whys.has(cell)) pair.whys.set(cell, await source.why(pair, focus.source, focus.target, list.filter.run));
    } catch {
      return; // the pair is shown all the same
    }
    if (view.pair === pair && sameFocus(view.focus, focus)) showWhy();
  }, 120);
}

function showWhy() {
  const answer = view.pair?.whys?.get(cellKey(view.focus.source, view.focus.target));
  const box = document.querySelector("#reasons .why");
  if (answer && box) fillWhy(box, answer, view.pair);
  keepHeight();
}

// The row and the column of the matrix that are pointed at.
function crosshair(focus) {
  const grid = document.querySelector("#matrix table");
  if (!grid) return [];
  const cells = focus.source === undefined ? [] : [...grid.tBodies[0].rows[focus.source].cells];
  if (focus.target !== undefined) for (const row of grid.tBodies[0].rows) cells.push(row.cells[focus.target + 1]);
  return cells;
}

// What an element stands for: {source, target}, one of them for a word; null for none.
function focusOf(element) {
  const word = element.closest?.("[data-word]");
  if (word) {
    const [side, index] = word.dataset.word.split(" ");
    return {[side]: Number(index)};
  }
  const edge = element.closest?.("[data-edge]");
  if (edge) {
    const [source, target] = edge.dataset.edge.split(" ").map(Number);
    return {source, target};
  }
  const cell = element.closest?.("#matrix tbody td");
  return cell ? {source: cell.parentElement.sectionRowIndex, target: cell.cellIndex - 1} : null;
}

function sameFocus(a, b) {
  return Boolean(a && b) && a.source === b.source && a.target === b.target;
}

function pin(focus) {
  view.pinned = sameFocus(focus, view.pinned) ? null : focus;
  for (const word of document.querySelectorAll("#lines .word")) {
    word.setAttribute("aria-pressed", sameFocus(focusOf(word), view.pinned));
  }
  light(view.pinned);
}

// A click while correcting: on a cell or a line it sets the link; on a word it waits for one of the other side.
function correct(focus) {
  if (!focus) return pin(null);
  if (bothSides(focus)) return editor.set(focus);
  const kept = view.pinned;
  if (kept && !bothSides(kept) && (kept.source === undefined) !== (focus.source === undefined)) {
    pin(null);
    return editor.set({...kept, ...focus});
  }
  return pin(focus);
}

// On a narrow screen the pair stands below the list.
function lookAtPair() {
  if (byId("pair").offsetTop > byId("list").offsetTop) byId("pair").scrollIntoView();
}

function setUpPair() {
  for (const id of ["lines", "matrix"]) {
    const element = byId(id);
    element.addEventListener("pointerover", (event) => {
      const focus = focusOf(event.target);
      if (focus) light(focus);
    });
    element.addEventListener("pointerleave", () => light(view.pinned));
    element.addEventListener("focusin", (event) => {
      const focus = focusOf(event.target);
      if (focus && event.target.matches(":focus-visible")) light(focus);
    });
    element.addEventListener("focusout", () => light(view.pinned));
    element.addEventListener("click", (event) => {
      if (event.target.id === "whole-matrix") {
        view.cells = drawMatrix(byId("matrix"), view.pair, true);
        dressMatrix(editor, view);
        return;
      }
      const focus = focusOf(event.target);
      if (!editor.on) return pin(focus);
      if (focus && bothSides(focus) && id === "matrix") putCursor(editor, view, focus);
      correct(focus);
    });
  }
  byId("legend").addEventListener("change", (event) => {
    if (event.target.checked) hiddenKinds.delete(event.target.value);
    else hiddenKinds.add(event.target.value);
    hideKinds();
  });
  byId("layout").addEventListener("change", redraw);
  byId("table").addEventListener("toggle", (event) => {
    if (event.target.open && view.pair) fillTable(event.target.lastElementChild, view.pair);
  });
  byId("before").addEventListener("click", () => list.step(-1));
  byId("after").addEventListener("click", () => list.step(1));
  byId("help").addEventListener("click", () => byId("keys").showModal());
  byId("edit").addEventListener("click", () => turnEditing());
  byId("finish").addEventListener("click", () => editor.finish());
  byId("undo").addEventListener("click", () => editor.undo());
  byId("redo").addEventListener("click", () => editor.redo());
  byId("clear").addEventListener("click", () => editor.clear());
  byId("save-picture").addEventListener("click", (event) => {
    const [what, format] = (event.target.dataset.picture ?? "").split(" ");
    if (format && view.pair) savePicture(view, what, format);
  });
  setUpDragging(editor, view);
  let width = byId("drawings").clientWidth;
  new ResizeObserver(([entry]) => {
    if (entry.contentRect.width === width || !entry.contentRect.width) return;
    width = entry.contentRect.width;
    requestAnimationFrame(redraw);
  }).observe(byId("drawings"));
}

function turnEditing(on) {
  const at = view.focus && bothSides(view.focus) ? view.focus : null;
  pin(null);
  editor.turn(on);
  if (editor.on && view.pair) putCursor(editor, view, at ?? editor.cursor ?? {source: 0, target: 0});
}

// The words that are looked for, in the pair as in the list.
function markHits() {
  const {pair, drawing} = view;
  if (!pair || !drawing) return;
  pair.hits = hitsOf(pair, list.filter);
  for (const side of ["source", "target"]) drawing.words[side].forEach((word, index) => nameWord(word, pair, side, index));
  light(view.focus);
}
