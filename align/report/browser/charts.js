// Small charts. Each is drawn as SVG with a title, and what it shows stands beside it as text or a table as well.

const CHART = {left: 46, right: 10, top: 10, bottom: 30};

function chartFrame({title, width, height}) {
  const svg = draw("svg", {class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title, width, height});
  svg.append(draw("title", {}, title));
  return svg;
}

function axisText(x, y, text, anchor = "middle") {
  return draw("text", {x, y, "text-anchor": anchor, class: "tick"}, text);
}

function tickText(value) {
  if (value === 0) return "0";
  return Math.abs(value) < 0.01 || Math.abs(value) >= 1e5 ? value.toExponential(0) : `${Number(value.toPrecision(2))}`;
}

// Points joined by a line; `log`: the y axis goes by powers of ten.
function lineChart(points, {title, x, y, log = false, width = 340, height = 180}) {
  const svg = chartFrame({title, width, height});
  if (!points.length) return svg;
  const up = (value) => (log ? Math.log10(value) : value);
  const [xs, ys] = [points.map(([value]) => value), points.map(([, value]) => up(value))];
  let [low, high] = [Math.min(...ys), Math.max(...ys)];
  if (log) [low, high] = [Math.floor(low), Math.ceil(high)];
  if (low === high) high = low + 1;
  const [first, last] = [Math.min(...xs), Math.max(...xs, Math.min(...xs) + 1)];
  const atX = (value) => CHART.left + (value - first) / (last - first) * (width - CHART.left - CHART.right);
  const atY = (value) => height - CHART.bottom - (value - low) / (high - low) * (height - CHART.top - CHART.bottom);
  const step = log ? Math.max(1, Math.ceil((high - low) / 4)) : (high - low) / 4;
  for (let level = low; level <= high + 1e-9; level += step) {
    svg.append(draw("line", {class: "grid", x1: CHART.left, x2: width - CHART.right, y1: atY(level), y2: atY(level)}),
      axisText(CHART.left - 4, atY(level) + 4, log ? percentTick(10 ** level) : tickText(level), "end"));
  }
  svg.append(axisText(atX(first), height - 14, `${first}`), axisText(atX(last), height - 14, `${last}`),
    axisText((CHART.left + width) / 2, height - 2, x));
  const path = points.map(([a, b], index) => `${index ? "L" : "M"}${atX(a).toFixed(1)} ${atY(up(b)).toFixed(1)}`).join("");
  svg.append(draw("path", {class: "curve", d: path}));
  const end = points[points.length - 1];
  svg.append(draw("circle", {class: "end", cx: atX(end[0]), cy: atY(up(end[1])), r: 3.5}));
  svg.setAttribute("aria-label", `${title}: ${y} ${tickText(points[0][1])} at first, ${tickText(end[1])} at the end`);
  return svg;
}

function percentTick(share) {
  return `${tickText(100 * share)} %`;
}

// Bars over bins {low, high, value, href, text}; each is a link to its pairs.
function histogram(bins, {title, x, width = 340, height = 180}) {
  const svg = chartFrame({title, width, height});
  svg.removeAttribute("role");
  const most = Math.max(1, ...bins.map((bin) => bin.value));
  const room = (width - CHART.left - CHART.right) / Math.max(1, bins.length);
  const atY = (value) => height - CHART.bottom - value / most * (height - CHART.top - CHART.bottom);
  for (const level of [0, most]) {
    svg.append(draw("line", {class: "grid", x1: CHART.left, x2: width - CHART.right, y1: atY(level), y2: atY(level)}),
      axisText(CHART.left - 4, atY(level) + 4, level.toLocaleString("en"), "end"));
  }
  bins.forEach((bin, index) => {
    const left = CHART.left + index * room;
    const bar = draw("rect", {class: "bin", x: left + 1, width: Math.max(1, room - 2), y: atY(bin.value),
      height: Math.max(bin.value ? 1 : 0, height - CHART.bottom - atY(bin.value))});
    svg.append(chartLink(bin, bar, {x: left, y: CHART.top, width: room, height: height - CHART.bottom - CHART.top}));
  });
  if (bins.length) {
    svg.append(axisText(CHART.left, height - 14, tickText(bins[0].low), "start"),
      axisText(width - CHART.right, height - 14, tickText(bins[bins.length - 1].high), "end"),
      axisText((CHART.left + width) / 2, height - 2, x));
  }
  return svg;
}

// How often links of a confidence are right: on the diagonal, the confidence says the truth.
function calibrationChart(bins, {width = 340, height = 220} = {}) {
  const title = "Calibration: share of right links by confidence";
  const svg = chartFrame({title, width, height});
  svg.removeAttribute("role");
  const atX = (value) => CHART.left + value * (width - CHART.left - CHART.right);
  const atY = (value) => height - CHART.bottom - value * (height - CHART.top - CHART.bottom);
  for (const level of [0, 0.25, 0.5, 0.75, 1]) {
    svg.append(draw("line", {class: "grid", x1: CHART.left, x2: width - CHART.right, y1: atY(level), y2: atY(level)}),
      axisText(CHART.left - 4, atY(level) + 4, `${100 * level} %`, "end"), axisText(atX(level), height - 14, `${level}`));
  }
  svg.append(axisText((CHART.left + width) / 2, height - 2, "confidence"),
    draw("path", {class: "ideal", d: `M${atX(0)} ${atY(0)}L${atX(1)} ${atY(1)}`}));
  const known = bins.filter((bin) => bin.links);
  svg.append(draw("path", {class: "curve", d: known.map((bin, index) =>
    `${index ? "L" : "M"}${atX(bin.confidence).toFixed(1)} ${atY(bin.share).toFixed(1)}`).join("")}));
  for (const bin of known) {
    const dot = draw("circle", {class: "dot", cx: atX(bin.confidence), cy: atY(bin.share), r: 5});
    svg.append(chartLink(bin, dot, {x: atX(bin.confidence) - 9, y: atY(bin.share) - 9, width: 18, height: 18}));
  }
  return svg;
}

// A part of a chart that leads to its pairs; the room around it can be hit as well.
function chartLink({href, text}, shape, box) {
  shape.append(draw("title", {}, text));
  if (!href) return shape;
  return draw("a", {href, "aria-label": text}, draw("rect", {class: "room", ...box}), shape);
}
