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
  const word = make("button", {
    type: "button", title: text, tabindex: index ? "-1" : "0", "data-word": `${side} ${index}`,
  }, visible(text));
  nameWord(word, pair, side, index);
  return word;
}

// Say what a word is linked to: by the model, or while correcting by whoever corrects.
function nameWord(word, pair, side, index) {
  const other = side === "source" ? "target" : "source";
  const partners = pair.edges.filter((edge) => (pair.drafting ? edge.drawn : edge.linked) && edge[side] === index);
  const names = partners.map((edge) => pair[other][edge[other]]);
  word.className = `word${names.length ? "" : " unlinked"}${pair.hits?.[side].has(index) ? " hit" : ""}`;
  word.setAttribute("aria-label", `${pair[side][index]}: ${names.length ? `linked to ${names.join(", ")}` : "not linked"}`);
}

// Draw the lines, once everything has its place; those that were there go.
function drawLines(drawing, pair) {
  const {board, curves, words, layout} = drawing;
  curves.replaceChildren();
  drawing.lines.clear();
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
  const compared = edge.alone ? " alone" : edge.left ? " left" : "";
  const group = draw("g", {class: `line ${edge.kind}${compared}`, "data-edge": cellKey(edge.source, edge.target)},
    draw("path", {class: "reach", d: path}), draw("path", {class: "stroke", d: path}));
  if (compared) group.prepend(draw("path", {class: "halo", d: path}));
  if (edge.kind === "wrong" || edge.kind === "missed") {
    group.append(mark(edge.kind, {x: half.x - 6, y: half.y - 6, width: 12, height: 12}));
  }
  return group;
}

// Take in other links of the same words, where they stand.
function renewLines(drawing, pair) {
  for (const side of ["source", "target"]) {
    drawing.words[side].forEach((word, index) => nameWord(word, pair, side, index));
  }
  drawLines(drawing, pair);
}

function place(element) {
  return {x: element.offsetLeft, y: element.offsetTop, width: element.offsetWidth, height: element.offsetHeight};
}

function middle(element) {
  return {x: element.offsetLeft + element.offsetWidth / 2, y: element.offsetTop + element.offsetHeight / 2};
}
