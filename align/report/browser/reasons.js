// What is known of the word or the link that is pointed at: judgement, confidence, reasons in words, then numbers.

// More links of one word than these are only named.
const MOST_EXPLAINED = 2;

// Whether the numbers behind the reasons are open, for all links alike.
let numbersOpen = false;

// `focus` is {source, target}, of which one may be missing: a link, a cell without one, or a word.
function showReasons(container, pair, focus) {
  if (!pair || !focus) {
    container.replaceChildren(make("p", {class: "note"}, pair ? hintOf(pair) : ""));
    return;
  }
  const edges = pair.edges.filter((edge) => isOf(edge, focus));
  // Possible links are many and no errors: where a word has others, they are only counted.
  const told = edges.length > 1 ? edges.filter((edge) => edge.kind !== "spare") : edges;
  const parts = [edges.length ? null : unlinked(pair, focus), ...told.map((edge) => describe(pair, edge))];
  if (edges.length > told.length) {
    parts.push(make("p", {class: "edge note"}, mark("spare"), ` ${spareText(pair, focus, edges, told)}`));
  }
  parts.push(searchesOf(pair, focus));
  const explained = edges.filter((edge) => edge.reasons?.length).slice(0, MOST_EXPLAINED);
  parts.push(...explained.map((edge) => reasonsOf(pair, edge, explained.length > 1)));
  if (!explained.length && bothSides(focus)) parts.push(make("div", {class: "why", "data-why": cellKey(focus.source, focus.target)}));
  if (!pair.drafting && bothSides(focus)) parts.push(make("p", {class: "note hint"}, "A click keeps it and tells all."));
  container.replaceChildren(...parts.filter(Boolean));
  for (const box of container.querySelectorAll(".why")) {
    const known = pair.whys?.get(box.dataset.why);
    if (known) fillWhy(box, known, pair);
  }
}

function hintOf(pair) {
  return pair.drafting
    ? "Click a cell: no link, sure, possible, and round again. Or drag from a word to a word of the other side. "
      + "The key ? shows the keys."
    : "Point at a word, a line or a cell to see what is linked and why; a click keeps it. "
      + "Arrow keys left and right: other pairs.";
}

function bothSides(focus) {
  return focus.source !== undefined && focus.target !== undefined;
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
  const judgement = pair.drafting || referenceOf(pair) || edge.kind === "gone" ? ` ${kindText(pair, edge.kind)}` : "";
  const line = make("p", {class: "edge"}, mark(edge.kind), " ", quoted(pair.source[edge.source]), " – ",
    quoted(pair.target[edge.target]), judgement);
  const figures = [];
  if (edge.linked && edge.confidence !== null) figures.push(`confidence ${decimal(edge.confidence)}`);
  if (edge.linked && edge.score !== null) figures.push(`score ${decimal(edge.score)}`);
  if (edge.kind === "wrong") figures.push(truthOf(pair, edge));
  if (edge.alone) figures.push(pair.beside.alone);
  if (edge.left && edge.kind !== "gone") figures.push(pair.beside.gone);
  if (figures.length) line.append(make("span", {class: "note"}, ` ${figures.join(", ")}`));
  return line;
}

// All other pairs with the same two words linked, or where the word has no link.
function searchesOf(pair, focus) {
  const filter = {show: "all", order: "worst"};
  if (bothSides(focus)) {
    filter.link = `${searchKey(pair.source[focus.source])}>${searchKey(pair.target[focus.target])}`;
    return make("a", {class: "more", href: filterAddress(filter)}, "all pairs that link these words");
  }
  const side = focus.source === undefined ? "target" : "source";
  const word = searchKey(pair[side][focus[side]]);
  const words = make("a", {class: "more", href: filterAddress({...filter, words: `"${word}"`})}, "all pairs with this word");
  const bare = make("a", {class: "more", href: filterAddress({...filter, unlinked_word: `${side}:${word}`})}, "where it has no link");
  return make("span", {}, words, " ", bare);
}

// First what speaks for the link in words, then the numbers behind a click.
function reasonsOf(pair, edge, several) {
  const box = make("div", {class: "why", "data-why": cellKey(edge.source, edge.target)});
  if (several) {
    box.append(make("p", {class: "of"}, quoted(pair.source[edge.source]), " – ", quoted(pair.target[edge.target])));
  }
  box.append(sentencesOf(edge.sentences ?? briefly(edge)));
  box.append(numbersOf(edge));
  return box;
}

function numbersOf(edge) {
  const numbers = make("details", {class: "numbers", open: numbersOpen}, make("summary", {}, "The numbers"), contributions(edge));
  numbers.addEventListener("toggle", () => { numbersOpen = numbers.open; });
  return numbers;
}

function sentencesOf(sentences) {
  return make("ul", {class: "sentences"}, ...sentences.map((text) => make("li", {dir: "auto"}, text)));
}

// Where nobody has put the reasons into sentences: what counts most, for and against.
function briefly(edge) {
  const named = (rows) => rows.slice(0, 3).map((row) => row.words).join("; ");
  const [good, bad] = [edge.reasons.filter((row) => row.value > 0), edge.reasons.filter((row) => row.value < 0)];
  const sentences = [];
  if (good.length) sentences.push(`For it, most of all: ${named(good)}.`);
  if (bad.length) sentences.push(`Against it: ${named(bad)}.`);
  return sentences;
}

function contributions(edge) {
  const rows = [...edge.reasons];
  if (edge.others) rows.push({name: "", words: "all others", value: edge.others});
  const largest = Math.max(...rows.map((row) => Math.abs(row.value)));
  const list = make("ul", {class: "bars"});
  for (const {name, words, value} of rows) {
    const bar = make("span", {class: `bar ${value < 0 ? "against" : "for"}`, "aria-hidden": "true"});
    bar.style.setProperty("--part", Math.abs(value) / largest);
    const number = `${value < 0 ? "−" : "+"}${decimal(Math.abs(value))}`;
    list.append(make("li", {},
      make("span", {class: "name", title: name ? `${words} (${name})` : words}, words), bar, make("span", {class: "number"}, number)));
  }
  return list;
}

// Reasons below this share of the largest one are told by their numbers only.
const LEAST_REASON = 0.04;

// What is known of a link or of a missing one: its reasons, the best rival, what would have to be different.
function fillWhy(box, answer, pair) {
  if (box.classList.contains("told")) return;
  box.classList.add("told");
  const parts = [answer.reasons?.length ? weighed(answer.reasons) : sentencesOf(answer.sentences ?? [])];
  if (answer.rival?.sentences?.length) {
    const {source, target, sentences} = answer.rival;
    const known = Number.isInteger(source) && Number.isInteger(target);
    const names = known ? ["The best rival: ", quoted(pair.source[source]), " – ", quoted(pair.target[target])] : ["Instead:"];
    parts.push(make("p", {class: "rival"}, ...names), sentencesOf(sentences));
  }
  if (answer.needed) parts.push(make("p", {class: "needed"}, answer.needed));
  box.querySelector(".sentences")?.remove();
  box.querySelector(".of")?.after(...parts) ?? box.prepend(...parts);
  if (!box.querySelector(".numbers") && answer.reasons?.length) {
    const rows = answer.reasons.map(({aspect, score}) => ({name: "", words: aspect, value: score}));
    box.append(numbersOf({reasons: rows}));
  }
}

// Reasons for and against, the weightiest first, each with its sign.
function weighed(reasons) {
  const most = Math.max(...reasons.map((reason) => Math.abs(reason.score)));
  const told = reasons.filter((reason) => Math.abs(reason.score) >= LEAST_REASON * most);
  return make("ul", {class: "sentences weighed"}, ...told.map(({score, words}) => make("li", {class: score < 0 ? "against" : "for"},
    make("b", {class: "sign", title: score < 0 ? "against the link" : "for the link"}, score < 0 ? "−" : "+",
      make("span", {class: "hidden"}, score < 0 ? " against the link: " : " for the link: ")), make("span", {dir: "auto"}, words))));
}

// What the gold, or whoever has corrected the pair, links the two words to instead.
function truthOf(pair, edge) {
  const names = (side) => {
    const [own, other] = side === "source" ? [0, 1] : [1, 0];
    const partners = referenceOf(pair).filter((link) => link[own] === edge[side]).map((link) => pair[other ? "target" : "source"][link[other]]);
    return `${visible(pair[side][edge[side]])} to ${partners.map(visible).join(", ") || "nothing"}`;
  };
  return `${pair.annotation ? "you link" : "the gold links"} ${names("source")}, ${names("target")}`;
}
