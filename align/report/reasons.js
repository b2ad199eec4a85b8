// What is known of the word or the link that is pointed at: judgement, confidence, score, contributions.

// More links of one word than these are only named.
const MOST_EXPLAINED = 2;

// `focus` is {source, target}, of which one may be missing: a link, a cell without one, or a word.
function showReasons(container, pair, focus) {
  if (!pair || !focus) {
    const hint = pair ? "Point at a word, a line or a cell to see what is linked and why; a click keeps it. "
      + "Arrow keys left and right: other pairs." : "";
    container.replaceChildren(make("p", {class: "note"}, hint));
    return;
  }
  const edges = pair.edges.filter((edge) => isOf(edge, focus));
  // Possible links are many and no errors: where a word has others, they are only counted.
  const told = edges.length > 1 ? edges.filter((edge) => edge.kind !== "spare") : edges;
  const parts = [edges.length ? null : unlinked(pair, focus), ...told.map((edge) => describe(pair, edge))];
  if (edges.length > told.length) {
    parts.push(make("p", {class: "edge note"}, mark("spare"), ` ${spareText(pair, focus, edges, told)}`));
  }
  const explained = edges.filter((edge) => edge.reasons?.length).slice(0, MOST_EXPLAINED);
  parts.push(...explained.map((edge) => contributions(pair, edge, explained.length > 1)));
  container.replaceChildren(...parts.filter(Boolean));
}

function spareText(pair, focus, edges, told) {
  const count = edges.length - told.length;
  const text = `${count} possible ${count > 1 ? "links" : "link"}, not made`;
  if (told.length) return text;
  const side = focus.source === undefined ? "target" : "source";
  return `${visible(pair[side][focus[side]])}: ${text}`;
}

function quoted(text) {
  return make("bdi", {class: "quoted"}, visible(text));
}

function unlinked(pair, focus) {
  const words = ["source", "target"].filter((side) => focus[side] !== undefined)
    .map((side) => quoted(pair[side][focus[side]]));
  const line = make("p", {class: "edge"}, words[0]);
  if (words[1]) line.append(" – ", words[1]);
  line.append(make("span", {class: "note"}, " not linked"));
  return line;
}

function describe(pair, edge) {
  const line = make("p", {class: "edge"}, mark(edge.kind), " ", quoted(pair.source[edge.source]), " – ",
    quoted(pair.target[edge.target]), pair.gold ? ` ${KINDS[edge.kind]}` : "");
  const figures = [];
  if (edge.linked && edge.confidence !== null) figures.push(`confidence ${decimal(edge.confidence)}`);
  if (edge.linked && edge.score !== null) figures.push(`score ${decimal(edge.score)}`);
  if (figures.length) line.append(make("span", {class: "note"}, ` ${figures.join(", ")}`));
  return line;
}

function contributions(pair, edge, several) {
  const rows = [...edge.reasons];
  if (edge.others) rows.push({name: "", words: "all others", value: edge.others});
  const largest = Math.max(...rows.map((row) => Math.abs(row.value)));
  const list = make("ul", {class: "bars"});
  const names = [quoted(pair.source[edge.source]), " – ", quoted(pair.target[edge.target])];
  if (several) list.append(make("li", {class: "of"}, ...names));
  for (const {name, words, value} of rows) {
    const bar = make("span", {class: `bar ${value < 0 ? "against" : "for"}`, "aria-hidden": "true"});
    bar.style.setProperty("--part", Math.abs(value) / largest);
    const number = `${value < 0 ? "−" : "+"}${decimal(Math.abs(value))}`;
    list.append(make("li", {},
      make("span", {class: "name", title: name ? `${words} (${name})` : words}, words), bar, make("span", {class: "number"}, number)));
  }
  return list;
}
