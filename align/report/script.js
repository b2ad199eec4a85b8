// The page: ties the list, the drawing of the pair and the reasons together.

const data = JSON.parse(byId("data").textContent);
const view = {pair: null, drawing: null, cells: new Map(), focus: null, pinned: null, lit: []};
const hiddenKinds = new Set();
const list = makeList(prepare(data).map((pair, place) => ({...pair, place})), showPair);

function showPair(pair) {
  Object.assign(view, {pair, focus: null, pinned: null});
  byId("pair-title").textContent = pair.part ? `${pair.title} · ${pair.part}` : pair.title;
  byId("pair-figures").textContent = figuresOf(pair);
  drawLegend(pair);
  redraw();
  const table = byId("table");
  if (table.open) fillTable(table.lastElementChild, pair);
  history.replaceState(null, "", `#${pair.id}`);
}

function figuresOf(pair) {
  const parts = [`${pair.source.length} + ${pair.target.length} words`, `${pair.links.length} links`];
  if (pair.gold) {
    const {aer, precision, recall} = pair.figures;
    parts.push(`AER ${percent(aer)}`, `precision ${percent(precision)}`, `recall ${percent(recall)}`);
  }
  if (pair.confidence !== null) parts.push(`mean confidence ${decimal(pair.confidence)}`);
  if (pair.score !== undefined) parts.push(`sentence score ${decimal(pair.score)}`);
  return parts.join(" · ");
}

// The legend is also the choice of what is drawn, and tells how many there are.
function drawLegend(pair) {
  const legend = byId("legend");
  const entries = kindsOf(pair).map((kind) => {
    const box = make("input", {type: "checkbox", value: kind, checked: !hiddenKinds.has(kind)});
    const sample = draw("svg", {class: `sample line ${kind}`, viewBox: "0 0 30 16", "aria-hidden": "true"},
      draw("path", {class: "stroke", d: "M1 8H29"}),
      draw("use", {href: `#mark-${kind}`, x: 9, y: 2, width: 12, height: 12}));
    const count = make("b", {}, `${pair.counts[kind] || 0}`);
    return make("label", {"data-kind": kind}, box, sample, ` ${KINDS[kind]} `, count);
  });
  legend.replaceChildren(legend.firstElementChild, ...entries);
}

function redraw() {
  const {pair} = view;
  if (!pair) return;
  const layout = document.querySelector("input[name=layout]:checked").value;
  byId("matrix").replaceChildren();
  view.drawing = drawWords(byId("lines"), pair, layout);
  view.cells = drawMatrix(byId("matrix"), pair);
  drawLines(view.drawing, pair);
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
  for (const element of view.lit) element.classList.remove("on");
  view.lit = [];
  byId("lines").classList.toggle("focused", Boolean(focus));
  showReasons(byId("reasons"), view.pair, focus);
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
        return;
      }
      pin(focusOf(event.target));
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
  let width = byId("drawings").clientWidth;
  new ResizeObserver(([entry]) => {
    if (entry.contentRect.width === width) return;
    width = entry.contentRect.width;
    requestAnimationFrame(redraw);
  }).observe(byId("drawings"));
}

function options(select, entries, chosen) {
  select.replaceChildren(...entries.map(([value, text]) =>
    make("option", {value, selected: value === chosen}, text)));
}

function setUpList() {
  const present = Object.keys(SHOWN).filter((kind) => kind === "all" || list.pairs.some(SHOWN[kind][1]));
  const annotated = list.pairs.some((pair) => pair.gold);
  list.kind = ["test", "gold", "all"].find((kind) => present.includes(kind));
  options(byId("kind"), present.map((kind) => [kind, SHOWN[kind][0]]), list.kind);
  const errors = Object.entries(ERRORS).filter(([name]) => annotated || ["any", "unlinked"].includes(name));
  options(byId("errors"), errors.map(([name, [text]]) => [name, text]), list.errors);
  options(byId("order"), Object.entries(ORDERS).map(([name, [text]]) => [name, text]), list.order);
  for (const name of ["kind", "errors", "order"]) {
    byId(name).addEventListener("change", (event) => {
      list[name] = event.target.value;
      list.refresh();
    });
  }
  byId("search").addEventListener("input", (event) => {
    list.terms = searchTerms(event.target.value);
    list.refresh();
  });
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  for (const head of document.querySelectorAll("#list th[data-order]")) {
    const name = head.dataset.order;
    if (!name) continue;
    const button = make("button", {type: "button"}, head.textContent);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      list.order = list.order === name ? REVERSED[name] : name;
      byId("order").value = list.order;
      list.refresh();
    });
  }
  byId("list").tBodies[0].addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    if (!row) return;
    list.select(list.found.find((pair) => pair.id === row.dataset.id));
    lookAtPair();
  });
  byId("page-before").addEventListener("click", () => list.turn(-1));
  byId("page-after").addEventListener("click", () => list.turn(1));
}

// Arrow keys: left and right go to other pairs, or to other words from a word; up and down go through the list.
function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  if (event.target.closest("input:not([type=checkbox]), select, textarea")) return;
  if (event.key === "Escape") {
    pin(null);
    return;
  }
  const by = {ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1}[event.key];
  if (!by) return;
  const upright = event.key === "ArrowUp" || event.key === "ArrowDown";
  const word = event.target.closest("#lines .word");
  if (word) {
    stepWord(word, by);
  } else if (upright && !mayStep(event.target)) {
    return;
  } else {
    const inList = event.target.closest("#list tbody");
    list.step(by);
    if (inList) document.querySelector("#list tr.current button")?.focus();
  }
  event.preventDefault();
}

// Up and down scroll what can be scrolled; they go to other pairs from the list, or where nothing scrolls.
function mayStep(element) {
  if (element.closest("#list")) return true;
  const page = document.scrollingElement;
  return element === document.body && page.scrollHeight <= page.clientHeight;
}

function stepWord(word, by) {
  const row = [...word.parentElement.querySelectorAll(".word")];
  const backwards = getComputedStyle(word.parentElement).direction === "rtl" ? -1 : 1;
  const next = row[row.indexOf(word) + by * backwards];
  if (!next) return;
  word.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

function openFromAddress() {
  const id = decodeURIComponent(location.hash.slice(1));
  const pair = list.pairs.find((each) => each.id === id);
  if (pair && !list.found.includes(pair)) showAll();
  if (pair) list.select(pair);
  return Boolean(pair);
}

function showAll() {
  Object.assign(list, {kind: "all", errors: "any", terms: []});
  byId("kind").value = list.kind;
  byId("errors").value = list.errors;
  byId("search").value = "";
  list.refresh();
}

function start() {
  for (const element of document.querySelectorAll(".language")) {
    element.title = element.dataset.code;
    element.textContent = languageName(element.dataset.code);
  }
  setUpPair();
  setUpList();
  setUpOwn((pair) => {
    list.pairs.unshift({...pair, place: 0});
    list.order = "backwards";
    byId("order").value = list.order;
    list.refresh();
    list.select(list.pairs[0]);
    lookAtPair();
  });
  list.refresh();
  showReasons(byId("reasons"), null, null);
  if (!openFromAddress() && list.found.length) list.select(list.found[0]);
  addEventListener("hashchange", openFromAddress);
  document.addEventListener("keydown", onKey);
}

start();
