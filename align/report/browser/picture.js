// The pair as a picture that needs nothing else: SVG with its styles in it, or PNG. Always dark on light, for paper.

const PAPER = 20; // pixels around the drawing

function savePicture(view, what, format) {
  const svg = what === "matrix" ? matrixPicture(view) : linesPicture(view);
  const name = fileName(data, `${view.pair.kind ?? "pair"}-${view.pair.number}-${what}`);
  const text = `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(svg)}\n`;
  if (format === "svg") {
    handOver(`${name}.svg`, text, "image/svg+xml;charset=utf-8");
    announce("The picture is saved.");
    return;
  }
  pngOf(text, Number(svg.getAttribute("width")), Number(svg.getAttribute("height")))
    .then((blob) => {
      handOver(`${name}.png`, blob);
      announce("The picture is saved.");
    })
    .catch(tellTrouble);
}

// Three pixels for each of the drawing: enough for print.
function pngOf(text, width, height, scale = 3) {
  return new Promise((resolve, reject) => {
    const image = new Image();
    const failed = () => reject(new Error("This browser cannot make a PNG of this size; save it as SVG."));
    image.addEventListener("error", failed);
    image.addEventListener("load", () => {
      const canvas = make("canvas", {width: Math.round(width * scale), height: Math.round(height * scale)});
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => (blob ? resolve(blob) : failed()), "image/png");
    });
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  });
}

// The colours of the light page, whatever this one is.
function paperColour(name) {
  const probe = byId("paper");
  return getComputedStyle(probe).getPropertyValue(`--${name}`).trim();
}

const COLOUR_OF = {high: "sure", middle: "sure", low: "sure", plain: "sure", gone: "spare", ghost: "spare"};

function colourOf(kind) {
  return paperColour(COLOUR_OF[kind] ?? kind);
}

const DASHES = {possible: "9 3", middle: "9 3", missed: "4 4", low: "3 3", spare: "1 4", gone: "2 3", ghost: "1 3"};

function sheet(width, height, title) {
  const svg = draw("svg", {xmlns: SVG, width: Math.ceil(width), height: Math.ceil(height), viewBox: `0 0 ${Math.ceil(width)} ${Math.ceil(height)}`,
    "font-family": "system-ui, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif", "font-size": 15, role: "img"});
  svg.append(draw("title", {}, title), draw("rect", {width: "100%", height: "100%", fill: paperColour("back")}));
  return svg;
}

function pictureTitle(pair) {
  return `${pair.source.join(" ")} – ${pair.target.join(" ")}`;
}

function wordText(text, attributes) {
  return draw("text", {fill: paperColour("text"), ...attributes}, visible(text));
}

function shownEdges(view) {
  return view.pair.edges.filter((edge) => !hiddenKinds.has(edge.kind));
}

// As the words stand on the page, in rows or in columns.
function linesPicture(view) {
  const {pair, drawing} = view;
  const {board} = drawing;
  const svg = sheet(board.scrollWidth + 2 * PAPER, board.offsetHeight + 2 * PAPER, pictureTitle(pair));
  const group = draw("g", {transform: `translate(${PAPER} ${PAPER})`});
  for (const edge of shownEdges(view)) {
    const line = drawing.lines.get(edge);
    const path = line.querySelector(".stroke").getAttribute("d");
    group.append(draw("path", {d: path, fill: "none", stroke: colourOf(edge.kind), "stroke-width": 2, "stroke-dasharray": DASHES[edge.kind]}));
    const sign = line.querySelector(".mark");
    if (sign) group.append(signOf(edge.kind, Number(sign.getAttribute("x")), Number(sign.getAttribute("y")), 12));
  }
  for (const side of ["source", "target"]) {
    drawing.words[side].forEach((word, index) => {
      const box = place(word);
      const across = drawing.layout === "across";
      const x = across ? box.x + box.width / 2 : side === "source" ? box.x + box.width - 6 : box.x + 6;
      group.append(wordText(pair[side][index], {x, y: box.y + box.height / 2 + 5,
        "text-anchor": across ? "middle" : side === "source" ? "end" : "start"}));
    });
  }
  svg.append(group);
  return svg;
}

// The sign of a kind, copied out of the symbols of the page with its colour in it.
function signOf(kind, x, y, size) {
  const symbol = byId(`mark-${kind}`);
  const group = draw("g", {transform: `translate(${x} ${y}) scale(${size / 16})`, color: colourOf(kind)});
  for (const shape of symbol.children) {
    const copy = shape.cloneNode(true);
    for (const name of ["fill", "stroke"]) if (copy.getAttribute(name) === "currentColor") copy.setAttribute(name, colourOf(kind));
    group.append(copy);
  }
  return group;
}

function widthOf(text) {
  widthOf.context ??= make("canvas").getContext("2d");
  widthOf.context.font = "15px system-ui, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif";
  return widthOf.context.measureText(text).width;
}

function matrixPicture(view) {
  const {pair} = view;
  const size = 24;
  const longest = (words) => Math.max(0, ...words.map((word) => widthOf(visible(word))));
  const [left, top] = [longest(pair.source) + 12, longest(pair.target) + 12];
  const [rows, columns] = [pair.source.length, pair.target.length];
  const svg = sheet(left + columns * size + 2 * PAPER, top + rows * size + 2 * PAPER, pictureTitle(pair));
  const group = draw("g", {transform: `translate(${PAPER} ${PAPER})`});
  let path = "";
  for (let row = 0; row <= rows; row += 1) path += `M${left} ${top + row * size}h${columns * size}`;
  for (let column = 0; column <= columns; column += 1) path += `M${left + column * size} ${top}v${rows * size}`;
  group.append(draw("path", {d: path, stroke: paperColour("edge"), fill: "none"}));
  pair.source.forEach((word, row) => group.append(wordText(word, {x: left - 8, y: top + row * size + 17, "text-anchor": "end"})));
  pair.target.forEach((word, column) => {
    const [x, y] = [left + column * size + 17, top - 8];
    group.append(wordText(word, {x, y, transform: `rotate(-90 ${x} ${y})`}));
  });
  for (const edge of shownEdges(view)) {
    group.append(signOf(edge.kind, left + edge.target * size + 5, top + edge.source * size + 5, 14));
  }
  svg.append(group);
  return svg;
}
