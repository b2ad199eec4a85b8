// The matrix of a pair: a row for each source word, a column for each target word, a sign where they link.

// Larger matrices are drawn when asked for: they take the browser seconds.
const MOST_CELLS = 20000;

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
  const edges = new Map(pair.edges.map((edge) => [edge.source * columns + edge.target, edge]));
  const cells = new Map();
  const body = make("tbody");
  for (let row = 0; row < rows; row += 1) {
    const line = make("tr", {}, header(pair, "source", row));
    for (let column = 0; column < columns; column += 1) {
      const edge = edges.get(row * columns + column);
      const cell = edge ? cellOf(edge) : make("td");
      if (edge) cells.set(edge, cell);
      line.append(cell);
    }
    body.append(line);
  }
  const corner = make("td", {class: "corner"}, make("span", {}, "source ↓"), make("span", {}, "target →"));
  const head = make("tr", {}, corner, ...pair.target.map((_, column) => header(pair, "target", column)));
  const text = `Links of ${pair.title}: rows are source words, columns target words`;
  const caption = make("caption", {class: "hidden"}, text);
  container.replaceChildren(make("table", {class: "grid"}, caption, make("thead", {}, head), body));
  return cells;
}

function header(pair, side, index) {
  const word = make("span", {dir: "auto", title: pair[side][index]}, visible(pair[side][index]));
  return make("th", {scope: side === "source" ? "row" : "col", "data-word": `${side} ${index}`}, word);
}

function cellOf(edge) {
  const confidence = edge.linked && edge.confidence !== null ? `, confidence ${decimal(edge.confidence)}` : "";
  return make("td", {
    class: edge.kind,
    "data-edge": `${edge.source} ${edge.target}`,
    "aria-label": KINDS[edge.kind] + (edge.linked ? confidence : ""),
  }, mark(edge.kind));
}
