// The matrix of a pair: a row for each source word, a column for each target word, a sign where they link.

// Larger matrices are drawn when asked for: they take the browser seconds.
const MOST_CELLS = 20000;

// Draw all cells and return them by edge.
function drawMatrix(container, pair, whole = false) {
  const [rows, columns] = [pair.source.length, pair.target.length];
  if (!rows || !columns) {
    const side = rows ? "target" : "source";
    const text = `The ${side} side has no words: there is nothing to link.`;
    container.replaceChildren(make("p", {class: "note"}, pair.words ? text : "Neither side has words."));
    return new Map();
  }
  if (rows * columns > MOST_CELLS && !whole) {
    const text = `Draw the matrix of ${rows} × ${columns} words`;
    container.replaceChildren(make("button", {type: "button", id: "whole-matrix"}, text));
    return new Map();
  }
  const body = make("tbody");
  for (let row = 0; row < rows; row += 1) {
    const line = make("tr", {}, header(pair, "source", row));
    for (let column = 0; column < columns; column += 1) line.append(make("td"));
    body.append(line);
  }
  const corner = make("td", {class: "corner"}, make("span", {}, "source ↓"), make("span", {}, "target →"));
  const head = make("tr", {}, corner, ...pair.target.map((_, column) => header(pair, "target", column)));
  const text = `Links of ${titleOf({...pair, part: ""})}: rows are source words, columns target words`;
  const caption = make("caption", {class: "hidden"}, text);
  const grid = make("table", {class: "grid"}, caption, make("thead", {}, head), body);
  const cells = fillMatrix(grid, pair);
  container.replaceChildren(grid);
  return cells;
}

function header(pair, side, index) {
  const word = make("span", {dir: "auto", title: pair[side][index]}, visible(pair[side][index]));
  return make("th", {scope: side === "source" ? "row" : "col", "data-word": `${side} ${index}`}, word);
}

function cellAt(grid, source, target) {
  return grid.tBodies[0].rows[source]?.cells[target + 1] ?? null;
}

// Put the signs of a pair's edges into the cells of its matrix, and take out those that were there.
function fillMatrix(grid, pair) {
  for (const cell of grid.querySelectorAll("td[data-edge]")) {
    cell.className = "";
    for (const name of ["data-edge", "aria-label"]) cell.removeAttribute(name);
    cell.replaceChildren();
  }
  const cells = new Map();
  for (const edge of pair.edges) {
    const cell = cellAt(grid, edge.source, edge.target);
    cell.className = `${edge.kind}${edge.alone ? " alone" : edge.left ? " left" : ""}`;
    cell.dataset.edge = cellKey(edge.source, edge.target);
    cell.setAttribute("aria-label", edgeText(pair, edge));
    cell.append(mark(edge.kind));
    cells.set(edge, cell);
  }
  return cells;
}

function edgeText(pair, edge) {
  const compared = edge.alone ? `, ${pair.beside.alone}` : edge.left && edge.kind !== "gone" ? `, ${pair.beside.gone}` : "";
  const confidence = edge.linked && edge.confidence !== null ? `, confidence ${decimal(edge.confidence)}` : "";
  return kindText(pair, edge.kind) + confidence + compared;
}
