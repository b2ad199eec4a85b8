// Sentence pairs: what kind each link is of, which pairs are shown, and in which order. Nothing is drawn here.

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
};

const GROUPS = {gold: "Gold", corpus: "Corpus", own: "Pair"};

// Scripts written without spaces: there a search may run over the ends of tokens.
const UNSPACED = new RegExp(`[${["Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar"]
  .map((script) => `\\p{Script=${script}}`).join("")}]`, "u");

// Turn the data of the page into pairs with edges: predicted and gold links together, each of one kind.
function prepare(data) {
  return data.pairs.map((pair) => {
    const edges = edgesOf(pair, data);
    const counts = {};
    for (const edge of edges) counts[edge.kind] = (counts[edge.kind] || 0) + 1;
    return {
      ...pair,
      id: `${pair.kind}-${pair.number}`,
      title: `${GROUPS[pair.kind]} ${pair.number}`,
      edges,
      counts,
      wrong: counts.wrong || 0,
      missed: counts.missed || 0,
      aer: pair.gold ? pair.figures.aer : null,
      words: pair.source.length + pair.target.length,
      keys: {source: pair.source.map(searchKey), target: pair.target.map(searchKey)},
    };
  });
}

function edgesOf(pair, {names, words}) {
  const edges = new Map();
  for (const [source, target, confidence, score = null, parts = [], others = 0] of pair.links) {
    const reasons = parts.map(([name, value]) => ({name: names[name], words: words[name], value}));
    edges.set(`${source} ${target}`, {
      source, target, confidence, score, reasons, others, linked: true, kind: kindByConfidence(confidence),
    });
  }
  if (pair.gold) {
    for (const edge of edges.values()) edge.kind = "wrong";
    for (const [source, target, sure] of pair.gold) {
      const edge = edges.get(`${source} ${target}`);
      if (edge) edge.kind = sure ? "sure" : "possible";
      else edges.set(`${source} ${target}`, {source, target, linked: false, kind: sure ? "missed" : "spare"});
    }
  }
  return [...edges.values()].sort((a, b) => a.source - b.source || a.target - b.target);
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
  if (pair.gold) return ["sure", "possible", "wrong", "missed", "spare"];
  return pair.edges.some((edge) => edge.kind === "plain") ? ["plain"] : ["high", "middle", "low"];
}

function searchKey(text) {
  return text.normalize("NFC").toLowerCase();
}

// Words with spaces between; in double quotes: a whole word, else any part of one.
function searchTerms(text) {
  return [...searchKey(text).matchAll(/"([^"]*)"?|[^\s"]+/gu)]
    .map((found) => ({text: found[1] ?? found[0], whole: found[1] !== undefined}))
    .filter((term) => term.text);
}

function hasTerm(pair, term) {
  return ["source", "target"].some((side) => pair.keys[side].some((word) => isTerm(word, term))
    || (!term.whole && UNSPACED.test(term.text) && pair.keys[side].join("").includes(term.text)));
}

function isTerm(word, term) {
  return term.whole ? word === term.text : word.includes(term.text);
}

const SHOWN = {
  all: ["all pairs", () => true],
  test: ["gold, test part", (pair) => pair.kind === "gold" && pair.part === "test"],
  train: ["gold, training part", (pair) => pair.kind === "gold" && pair.part === "train"],
  gold: ["gold", (pair) => pair.kind === "gold"],
  corpus: ["sample of the corpus", (pair) => pair.kind === "corpus"],
};

const ERRORS = {
  any: ["any", () => true],
  errors: ["wrong or missed", (pair) => pair.wrong + pair.missed > 0],
  wrong: ["wrong", (pair) => pair.wrong > 0],
  missed: ["missed", (pair) => pair.missed > 0],
  unlinked: ["none at all", (pair) => !pair.links.length],
};

// null (unknown) comes last in either direction.
function known(value, sign) {
  return value === null || value === undefined ? Infinity : sign * value;
}

const byNumber = (a, b) => (a.kind === b.kind ? a.number - b.number : a.place - b.place);

const ORDERS = {
  worst: ["worst first", (a, b) => compare(known(a.aer, -1), known(b.aer, -1))
    || (b.wrong + b.missed) - (a.wrong + a.missed) || compare(trust(a, 1), trust(b, 1))
    || byNumber(a, b)],
  best: ["best first", (a, b) => compare(known(a.aer, 1), known(b.aer, 1)) || compare(trust(a, -1), trust(b, -1))
    || byNumber(a, b)],
  unsure: ["least confident first", (a, b) => compare(known(a.confidence, 1), known(b.confidence, 1))
    || byNumber(a, b)],
  confident: ["most confident first", (a, b) => compare(known(a.confidence, -1), known(b.confidence, -1))
    || byNumber(a, b)],
  longest: ["longest first", (a, b) => b.words - a.words || byNumber(a, b)],
  shortest: ["shortest first", (a, b) => a.words - b.words || byNumber(a, b)],
  number: ["line number", byNumber],
  backwards: ["line number, last first", (a, b) => byNumber(b, a)],
};

// Each order with the one that a second click on its column gives.
const REVERSED = {worst: "best", unsure: "confident", longest: "shortest", number: "backwards"};

function compare(a, b) {
  return a === b ? 0 : a < b ? -1 : 1;
}

function trust(pair, sign) {
  return known(pair.score ?? pair.confidence, sign);
}
