// What a saved report calculates of itself: the summary of its pairs and its lexicon, in the form a server answers in.

const RESAMPLES = 1000;
const MOST_WORDS = 100;
const BINS = 10;

function summaryOf(pairs, data) {
  const judged = pairs.filter((pair) => referenceOf(pair));
  const counts = judged.map((pair) => figuresOf(pair.links, referenceOf(pair)).counts);
  const links = pairs.reduce((sum, pair) => sum + pair.links.length, 0);
  return {
    pairs: pairs.length,
    judged: judged.length,
    begun: judged.filter((pair) => pair.annotated === 1).length,
    ...intervals(counts),
    links,
    sure: counts.reduce((sum, each) => sum + each.sure, 0),
    possible: judged.reduce((sum, pair) => sum + referenceOf(pair).length, 0),
    gap_curve: data.gap_curve ?? [],
    calibration: calibrationOf(judged),
    unlinked: pairs.filter((pair) => !pair.links.length).length,
    wrong_links: counts.reduce((sum, each) => sum + each.links - each.linkedPossible, 0),
    missed_links: counts.reduce((sum, each) => sum + each.sure - each.linkedSure, 0),
    scored: "Confidence",
    scores: confidencesOf(pairs),
    confusions: topLinks(judged, wrongLinks, "wrong"),
    missed: topLinks(judged, missedLinks, "missed"),
    unaligned: {source: bareWords(pairs, "source"), target: bareWords(pairs, "target")},
    wrong_words: wrongWords(judged),
  };
}

// Measures of all pairs together with their 95 % interval: percentiles of resampled pairs (Efron 1979), seeded.
function intervals(counts) {
  if (!counts.length) return {aer: null, precision: null, recall: null};
  const names = ["links", "sure", "linkedSure", "linkedPossible"];
  const total = (rows) => measures(Object.fromEntries(names.map((name) => [name, rows.reduce((sum, row) => sum + row[name], 0)])));
  const drawn = {aer: [], precision: [], recall: []};
  let state = 1;
  const draw1 = () => {
    state += 1;
    return counts[scattered(state) % counts.length];
  };
  for (let sample = 0; sample < RESAMPLES; sample += 1) {
    const sums = {links: 0, sure: 0, linkedSure: 0, linkedPossible: 0};
    for (let index = 0; index < counts.length; index += 1) {
      const row = draw1();
      for (const name of names) sums[name] += row[name];
    }
    const found = measures(sums);
    for (const name of Object.keys(drawn)) if (found[name] !== null) drawn[name].push(found[name]);
  }
  const all = total(counts);
  return Object.fromEntries(Object.entries(drawn).map(([name, values]) => {
    values.sort((a, b) => a - b);
    const at = (share) => values[Math.min(values.length - 1, Math.floor(share * values.length))];
    return [name, all[name] === null ? null : [all[name], at(0.025), at(0.975)]];
  }));
}

function binOf(value) {
  return Math.min(BINS - 1, Math.floor(value * BINS));
}

function emptyBins() {
  return Array.from({length: BINS}, (_, index) => ({low: index / BINS, high: (index + 1) / BINS}));
}

function calibrationOf(judged) {
  const bins = emptyBins().map((bin) => ({...bin, confidence: 0, right: 0, links: 0}));
  for (const pair of judged) {
    const right = new Set(referenceOf(pair).map(([source, target]) => cellKey(source, target)));
    for (const [source, target, confidence] of pair.links) {
      if (typeof confidence !== "number") continue;
      const bin = bins[binOf(confidence)];
      bin.links += 1;
      bin.confidence += confidence;
      if (right.has(cellKey(source, target))) bin.right += 1;
    }
  }
  return bins.filter((bin) => bin.links).map((bin) => ({...bin, confidence: bin.confidence / bin.links,
    filter: {show: "judged", link_confidence: `${bin.low}-${bin.high}`}}));
}

function confidencesOf(pairs) {
  const bins = emptyBins().map((bin) => ({...bin, pairs: 0}));
  for (const {confidence} of pairs) if (typeof confidence === "number") bins[binOf(confidence)].pairs += 1;
  return bins.some((bin) => bin.pairs) ? bins.map((bin) => ({...bin, filter: {confidence: `${bin.low}-${bin.high}`}})) : [];
}

// Counts of keys, the most frequent first, of equal ones in alphabetical order.
function ranked(counts) {
  return [...counts].sort((a, b) => b[1] - a[1] || compare(a[0], b[0])).slice(0, MOST_WORDS);
}

function topLinks(judged, errors, name) {
  const counts = new Map();
  for (const pair of judged) {
    for (const link of errors(pair)) {
      const key = wordsOf(pair, link).join("\n");
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  }
  return ranked(counts).map(([key, count]) => {
    const [source, target] = key.split("\n");
    return {source, target, [name]: count, filter: {[`${name}_link`]: `${source}>${target}`}};
  });
}

function bareWords(pairs, side) {
  const at = side === "source" ? 0 : 1;
  const [bare, all] = [new Map(), new Map()];
  for (const pair of pairs) {
    const linkedWords = new Set(pair.links.map((link) => link[at]));
    keysOf(pair)[side].forEach((word, index) => {
      all.set(word, (all.get(word) ?? 0) + 1);
      if (!linkedWords.has(index)) bare.set(word, (bare.get(word) ?? 0) + 1);
    });
  }
  return ranked(bare).map(([word, unlinkedTimes]) => ({
    word, unlinked: unlinkedTimes, occurrences: all.get(word), filter: {unlinked_word: `${side}:${word}`},
  }));
}

function wrongWords(judged) {
  const counts = new Map();
  const add = (pair, link, kind) => ["source", "target"].forEach((side, at) => {
    const key = `${side}:${keysOf(pair)[side][link[at]]}`;
    if (!counts.has(key)) counts.set(key, {wrong: 0, missed: 0});
    counts.get(key)[kind] += 1;
  });
  for (const pair of judged) {
    for (const link of wrongLinks(pair)) add(pair, link, "wrong");
    for (const link of missedLinks(pair)) add(pair, link, "missed");
  }
  const sums = new Map([...counts].map(([key, {wrong, missed}]) => [key, wrong + missed]));
  return ranked(sums).map(([key]) => {
    const [side, word] = cut(key, ":");
    return {word, side, ...counts.get(key), filter: {fault_word: key}};
  });
}

// A word, what it is linked to and how often, over the links of all pairs.
function lexiconOf(pairs, side, word) {
  const key = searchKey(word);
  const at = side === "source" ? 0 : 1;
  const other = side === "source" ? "target" : "source";
  const found = new Map();
  const totals = new Map();
  let [count, bare, linkedTimes] = [0, 0, 0];
  for (const pair of pairs) {
    const keys = keysOf(pair);
    const linkedWords = new Set(pair.links.map((link) => link[at]));
    keys[side].forEach((each, index) => {
      if (each !== key) return;
      count += 1;
      if (!linkedWords.has(index)) bare += 1;
    });
    for (const link of pair.links) {
      const translation = keys[other][link[1 - at]];
      totals.set(translation, (totals.get(translation) ?? 0) + 1);
      if (keys[side][link[at]] !== key) continue;
      linkedTimes += 1;
      if (!found.has(translation)) found.set(translation, {count: 0, examples: []});
      const entry = found.get(translation);
      entry.count += 1;
      if (entry.examples.length < 3 && !entry.examples.includes(pair.id)) entry.examples.push(pair.id);
    }
  }
  const order = ranked(new Map([...found].map(([text, entry]) => [text, entry.count])));
  const quotes = {};
  for (const {examples} of found.values()) for (const id of examples) quotes[id] ??= quoteOf(pairs, id, key, side, at);
  return {word: key, side, count, unlinked: bare, quotes, translations: order.map(([text]) => {
    const entry = found.get(text);
    const [from, to] = [entry.count / linkedTimes, entry.count / totals.get(text)];
    return {word: text, count: entry.count, examples: entry.examples,
      p_forward: side === "source" ? from : to, p_reverse: side === "source" ? to : from,
      filter: {link: side === "source" ? `${key}>${text}` : `${text}>${key}`}};
  })};
}

// A pair to be quoted, with the links of the word.
function quoteOf(pairs, id, key, side, at) {
  const pair = pairs.find((each) => each.id === id);
  return {number: pair.number, kind: pair.kind, source: pair.source, target: pair.target,
    linked: pair.links.filter((link) => keysOf(pair)[side][link[at]] === key).map((link) => link.slice(0, 2))};
}
