// The two sentences with a line for each link: in two rows where they fit the width, else in two columns.

const REACH = {least: 72, most: 190};

// Put the words in their places; `layout` is "across", "down" or "auto".
function drawWords(container, pair, layout) {
  const drawing = lineUp(container, pair, layout === "auto" ? "across" : layout);
  if (layout !== "auto" || drawing.board.scrollWidth <= container.clientWidth) return drawing;
  return lineUp(container, pair, "down");
}

function lineUp(container, pair, layout) {
  const board = make("div", {class: `board ${layout}`});
  const curves = draw("svg", {class: "curves", width: 0, height: 0, "aria-hidden": "true", focusable: "false"});
  const words = {};
  for (const side of ["source", "target"]) {
    // The row runs as its text does; its words stand alone in it.
    const row = make("div", {class: "words", dir: layout === "across" ? "auto" : "ltr", "data-side": side,
      role: "group", "aria-label": `${side} words`});
    words[side] = pair[side].map((text, index) => wordButton(pair, side, index, text));
    row.append(...words[side]);
    if (!words[side].length) row.append(make("span", {class: "empty"}, `no ${side} words`));
    board.append(row);
  }
  board.append(curves);
  container.replaceChildren(board);
  container.dataset.layout = layout;
  return {board, curves, words, layout, lines: new Map()};
}

function wordButton(pair, side, index, text) {
  const other = side === "source" ? "target" : "source";
  const partners = pair.edges.filter((edge) => edge.linked && edge[side] === index);
  const names = partners.map((edge) => pair[other][edge[other]]);
  return make("button", {
    type: "button",
    class: `word${names.length ? "" : " unlinked"}`,
    title: text,
    tabindex: index ? "-1" : "0",
    "data-word": `${side} ${index}`,
    "aria-label": `${text}: ${names.length ? `linked to ${names.join(", ")}` : "not linked"}`,
  }, visible(text));
}

// Draw the lines, once everything has its place.
function drawLines(drawing, pair) {
  const {board, curves, words, layout} = drawing;
  const ends = pair.edges.map((edge) => [words.source[edge.source], words.target[edge.target]]);
  if (layout === "across") {
    const spans = ends.map(([a, b]) => Math.abs(middle(a).x - middle(b).x));
    const reach = Math.min(REACH.most, REACH.least + Math.max(0, ...spans) / 6);
    board.style.setProperty("--reach", `${Math.round(reach)}px`);
  }
  const boxes = ends.map(([a, b]) => [place(a), place(b)]);
  curves.setAttribute("width", board.offsetWidth);
  curves.setAttribute("height", board.offsetHeight);
  pair.edges.forEach((edge, index) => {
    const line = lineOf(edge, ...boxes[index], layout);
    drawing.lines.set(edge, line);
    curves.append(line);
  });
}

function lineOf(edge, a, b, layout) {
  const start = layout === "across" ? {x: a.x + a.width / 2, y: a.y + a.height}
    : {x: a.x + a.width, y: a.y + a.height / 2};
  const end = layout === "across" ? {x: b.x + b.width / 2, y: b.y} : {x: b.x, y: b.y + b.height / 2};
  const half = {x: (start.x + end.x) / 2, y: (start.y + end.y) / 2};
  const bends = layout === "across" ? [start.x, half.y, end.x, half.y] : [half.x, start.y, half.x, end.y];
  const path = `M${start.x} ${start.y}C${bends.map((value) => value.toFixed(1)).join(" ")} ${end.x} ${end.y}`;
  const group = draw("g", {class: `line ${edge.kind}`, "data-edge": `${edge.source} ${edge.target}`},
    draw("path", {class: "reach", d: path}), draw("path", {class: "stroke", d: path}));
  if (edge.kind === "wrong" || edge.kind === "missed") {
    group.append(mark(edge.kind, {x: half.x - 6, y: half.y - 6, width: 12, height: 12}));
  }
  return group;
}

function place(element) {
  return {x: element.offsetLeft, y: element.offsetTop, width: element.offsetWidth, height: element.offsetHeight};
}

function middle(element) {
  return {x: element.offsetLeft + element.offsetWidth / 2, y: element.offsetTop + element.offsetHeight / 2};
}
