// Sentence pairs: what kind each link is of. Nothing is drawn here.

const KINDS = {
  sure: "right, sure",
  possible: "right, possible",
  wrong: "wrong",
  missed: "missed",
  spare: "possible, not linked",
  high: "confidence 0.9 or more",
  middle: "0.5 to 0.9",
  low: "below 0.5",
  plain: "link",
  gone: "only in the other",
  ghost: "the model's, not yours",
};

// While links are set by hand they are not judged.
const DRAFT_KINDS = {...KINDS, sure: "sure", possible: "possible"};

const GROUPS = {gold: "Gold", corpus: "Corpus", own: "Pair"};

function titleOf({kind, number, part}) {
  const title = `${GROUPS[kind]} ${number}`;
  return part ? `${title} · ${part}` : title;
}

function cellKey(source, target) {
  return `${source} ${target}`;
}

// What the model links: a map from cells to edges with their reasons.
function linksOf(pair, {names, words}) {
  const edges = new Map();
  for (const [source, target, confidence = null, score = null, parts = [], others = 0, sentences = null] of pair.links) {
    const reasons = parts.map(([name, value]) => ({name: names[name], words: words[name], value}));
    edges.set(cellKey(source, target), {source, target, confidence, score, reasons, others, sentences, linked: true});
  }
  return edges;
}

// What the links are held against: one's own corrections, else the gold, else nothing.
function referenceOf(pair) {
  return pair.annotation ? pair.annotation.links : pair.gold ?? null;
}

// What correcting starts from: corrections that were made, else the gold, else what the model links.
function draftOf(pair) {
  return referenceOf(pair) ?? pair.links.map(([source, target]) => [source, target, 1]);
}

// Give a pair its edges: predicted links and those they are held against together, each of one kind.
// `beside`: links of another run, or those before learning; what only one of the two has is told apart.
function withEdges(pair, drafting) {
  const edges = new Map([...pair.linked].map(([cell, edge]) => [cell, {...edge, kind: kindByConfidence(edge.confidence)}]));
  if (drafting) mergeDraft(edges, draftOf(pair));
  else if (referenceOf(pair)) mergeReference(edges, referenceOf(pair));
  if (pair.beside) mergeBeside(edges, pair.beside.links);
  pair.drafting = drafting;
  pair.edges = [...edges.values()].sort((a, b) => a.source - b.source || a.target - b.target);
  pair.counts = {};
  for (const {kind} of pair.edges) pair.counts[kind] = (pair.counts[kind] || 0) + 1;
  return pair;
}

function mergeReference(edges, reference) {
  for (const edge of edges.values()) edge.kind = "wrong";
  for (const [source, target, sure] of reference) {
    const edge = edges.get(cellKey(source, target));
    if (edge) edge.kind = sure ? "sure" : "possible";
    else edges.set(cellKey(source, target), {source, target, linked: false, kind: sure ? "missed" : "spare"});
  }
}

function mergeDraft(edges, draft) {
  for (const edge of edges.values()) edge.kind = "ghost";
  for (const [source, target, sure] of draft) {
    const cell = cellKey(source, target);
    const edge = edges.get(cell) ?? {source, target, linked: false};
    edges.set(cell, {...edge, drawn: true, kind: sure ? "sure" : "possible"});
  }
}

function mergeBeside(edges, links) {
  const others = new Set(links.map(([source, target]) => cellKey(source, target)));
  for (const [cell, edge] of edges) {
    edge.alone = edge.linked && !others.has(cell);
    edge.left = !edge.linked && others.has(cell);
  }
  for (const [source, target] of links) {
    const cell = cellKey(source, target);
    if (!edges.has(cell)) edges.set(cell, {source, target, linked: false, left: true, kind: "gone"});
  }
}

// Whether an edge belongs to what is pointed at: {source, target}, of which one may be missing.
function isOf(edge, focus) {
  return ["source", "target"].every((side) => focus[side] === undefined || focus[side] === edge[side]);
}

function kindByConfidence(confidence) {
  if (confidence === null) return "plain";
  if (confidence >= 0.9) return "high";
  return confidence >= 0.5 ? "middle" : "low";
}

function kindsOf(pair) {
  const beside = pair.counts.gone ? ["gone"] : [];
  if (pair.drafting) return ["sure", "possible", "ghost", ...beside];
  if (referenceOf(pair)) return ["sure", "possible", "wrong", "missed", "spare", ...beside];
  return [...(pair.edges.some((edge) => edge.kind === "plain") ? ["plain"] : ["high", "middle", "low"]), ...beside];
}

function kindText(pair, kind) {
  if (kind === "gone" && pair.beside) return pair.beside.gone;
  return (pair.drafting ? DRAFT_KINDS : KINDS)[kind];
}

// How the links of a pair fit those they are held against; null where there is nothing to divide by.
function figuresOf(links, reference) {
  const of = new Map(reference.map(([source, target, sure]) => [cellKey(source, target), sure]));
  const counts = {links: links.length, sure: 0, linkedSure: 0, linkedPossible: 0};
  for (const sure of of.values()) counts.sure += sure ? 1 : 0;
  for (const [source, target] of links) {
    const sure = of.get(cellKey(source, target));
    if (sure !== undefined) counts.linkedPossible += 1;
    if (sure) counts.linkedSure += 1;
  }
  return {counts, ...measures(counts)};
}

// Och and Ney (2003): AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|), P the possible links, sure ones among them.
function measures({links, sure, linkedSure, linkedPossible}) {
  return {
    aer: links + sure ? 1 - (linkedSure + linkedPossible) / (links + sure) : null,
    precision: links ? linkedPossible / links : null,
    recall: sure ? linkedSure / sure : null,
  };
}

function searchKey(text) {
  return text.normalize("NFC").toLowerCase();
}

// The words of a pair as they are looked for; made once, when first asked for.
const madeKeys = new WeakMap();

function keysOf(pair) {
  if (!madeKeys.has(pair)) madeKeys.set(pair, {source: pair.source.map(searchKey), target: pair.target.map(searchKey)});
  return madeKeys.get(pair);
}
