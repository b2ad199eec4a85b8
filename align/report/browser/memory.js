// Pairs that are all in the page: found, ordered, corrected and counted here. A source of pairs is an object with
// page, pair, why, edit, finish, clear, undo, redo, queue, summary, lexicon; server.js has the other one.

function memorySource(data) {
  const pairs = data.pairs.map((pair, place) => lightPair(pair, place));
  const byName = new Map(pairs.map((pair) => [pair.id, pair]));
  const store = keptCorrections(data, byName);
  let sorted = {order: null, pairs: []};
  for (const id of store.annotations.ids()) judgeAgain(byName.get(id));
  prepareSearch(pairs);

  function judgeAgain(pair) {
    pair.annotation = store.annotations.get(pair.id);
    pair.annotated = pair.annotation ? (pair.annotation.done ? 2 : 1) : 0;
    Object.assign(pair, errorsOf(pair));
    sorted = {order: null, pairs: []};
    return pair.annotation;
  }

  function inOrder(order) {
    if (sorted.order !== order) sorted = {order, pairs: [...pairs].sort(makeOrder(order, pairs))};
    return sorted.pairs;
  }

  function find(filter) {
    const tests = testsOf(filter);
    return inOrder(filter.order).filter((pair) => tests.every((test) => test(pair)));
  }

  function startOf(id) {
    return draftOf(byName.get(id));
  }

  // The list is asked for a page at a time, and what is found is the same for all of them.
  let last = {text: null, found: []};
  function foundFor(filter) {
    const text = filterText(filter);
    if (last.text !== text || last.of !== sorted.pairs) last = {text, found: find(filter), of: sorted.pairs};
    return last.found;
  }

  return {
    kind: "memory",
    count: pairs.length,
    judged: pairs.some((pair) => pair.gold),
    kinds: new Set(pairs.flatMap((pair) => [pair.kind, ...(pair.kind === "gold" && pair.part ? [pair.part] : [])])),
    orders: Object.keys(ORDERS).filter((order) => order !== "changed"),
    unsaved: () => store.unsaved(),
    corrections: () => store.annotations.ids().map((id) => byName.get(id)),
    saved: () => store.saved(),
    all: (filter) => find(filter),
    async page(filter, from, limit, at = null) {
      const found = foundFor(filter);
      const place = at === null ? -1 : found.findIndex((pair) => pair.id === at);
      const offset = place < 0 ? from : Math.floor(place / limit) * limit;
      return {total: found.length, of: pairs.length, linked: pairs.length, offset,
        place: place < 0 ? null : place, rows: found.slice(offset, offset + limit)};
    },
    async placeOf(filter, id) {
      return foundFor(filter).findIndex((pair) => pair.id === id);
    },
    has: (id) => byName.has(id),
    async pair(id) {
      const pair = byName.get(id);
      if (!pair) throw new Error(`There is no pair ${id}.`);
      return {...pair, linked: linksOf(pair, pair.ofNames ?? data),
        whys: new Map((pair.whys ?? []).map(([source, target, said]) => [cellKey(source, target), said])), annotation: store.annotations.get(id)};
    },
    // Pairs that were pasted, of an explorer without a desk.
    add(pair, names) {
      const added = {...lightPair(pair, -pairs.length - 1), ofNames: names};
      pairs.unshift(added);
      byName.set(added.id, added);
      sorted = {order: null, pairs: []};
      this.count = pairs.length;
      return added;
    },
    async why() { return null; },
    async edit(id, changes) {
      store.annotations.edit(id, changes, startOf(id));
      return {annotation: judgeAgain(byName.get(id))};
    },
    async finish(id, done) {
      store.annotations.finish(id, done, startOf(id));
      return {annotation: judgeAgain(byName.get(id))};
    },
    async clear(id) {
      store.annotations.clear(id);
      return {annotation: judgeAgain(byName.get(id))};
    },
    async undo() {
      const undone = store.annotations.undo();
      if (undone) judgeAgain(byName.get(undone.id));
      return undone;
    },
    async redo() {
      const redone = store.annotations.redo();
      if (redone) judgeAgain(byName.get(redone.id));
      return redone;
    },
    counts: () => store.annotations.counts(),
    // The first pair in an order of which nobody has said anything.
    async queue(order) {
      return {id: inOrder(order).find((pair) => pair.annotated === 0)?.id ?? null};
    },
    async summary() { return summaryOf(pairs, data); },
    async lexicon(side, word) { return lexiconOf(pairs, side, word); },
  };
}

// A pair as the list needs it: no edges yet, those are made for the one that is looked at.
function lightPair(pair, place) {
  return {...pair, place, id: `${pair.kind}-${pair.number}`, annotated: 0, annotation: null,
    words: pair.source.length + pair.target.length, ...errorsOf(pair)};
}

function errorsOf(pair) {
  const reference = referenceOf(pair);
  if (!reference) return {wrong: 0, missed: 0, aer: null};
  const {counts, aer} = figuresOf(pair.links, reference);
  return {wrong: counts.links - counts.linkedPossible, missed: counts.sure - counts.linkedSure, aer};
}

const ERROR_TESTS = {
  any: null,
  errors: (pair) => pair.wrong + pair.missed > 0,
  wrong: (pair) => pair.wrong > 0,
  missed: (pair) => pair.missed > 0,
  unlinked: (pair) => !pair.links.length,
};

const SHOW_TESTS = {
  all: null,
  test: (pair) => pair.kind === "gold" && pair.part === "test",
  train: (pair) => pair.kind === "gold" && pair.part === "train",
  gold: (pair) => pair.kind === "gold",
  corpus: (pair) => pair.kind === "corpus",
  own: (pair) => pair.kind === "own",
  judged: (pair) => Boolean(referenceOf(pair)),
  annotated: (pair) => pair.annotated > 0,
  begun: (pair) => pair.annotated === 1,
  done: (pair) => pair.annotated === 2,
  todo: (pair) => pair.annotated === 0,
};

function testsOf(filter) {
  const terms = searchTerms(filter.words);
  const tests = [SHOW_TESTS[filter.show], ERROR_TESTS[filter.errors], ...terms.map((term) => (pair) => hasTerm(pair, term))];
  const link = searchKey(filter.link);
  if (link) tests.push((pair) => pair.links.some((each) => isLink(link, ...wordsOf(pair, each))));
  if (filter.confidence) tests.push((pair) => isWithin(pair.confidence, filter.confidence));
  if (filter.score) tests.push((pair) => isWithin(pair.score, filter.score));
  if (filter.link_confidence) {
    tests.push((pair) => pair.links.some(([, , confidence]) => isWithin(confidence, filter.link_confidence)));
  }
  if (filter.ids) tests.push((pair) => filter.ids.split(",").includes(pair.id));
  if (filter.fault_word) {
    const [side, word] = cut(filter.fault_word, ":");
    const link = side === "source" ? `${searchKey(word)}>` : `>${searchKey(word)}`;
    tests.push(errorTest(link, (pair) => [...wrongLinks(pair), ...missedLinks(pair)]));
  }
  if (filter.unlinked_word) tests.push(unlinkedTest(...cut(filter.unlinked_word, ":")));
  if (filter.wrong_link) tests.push(errorTest(searchKey(filter.wrong_link), (pair) => wrongLinks(pair)));
  if (filter.missed_link) tests.push(errorTest(searchKey(filter.missed_link), (pair) => missedLinks(pair)));
  return tests.filter(Boolean);
}

// Whether a value lies in a range; the highest bound of all belongs to it.
function isWithin(value, range) {
  const [low, high] = rangeOf(range);
  return typeof value === "number" && value >= low && (value < high || (high >= 1 && value <= high));
}

function wordsOf(pair, [source, target]) {
  const keys = keysOf(pair);
  return [keys.source[source], keys.target[target]];
}

function unlinkedTest(side, word) {
  const [key, at] = [searchKey(word), side === "source" ? 0 : 1];
  return (pair) => {
    if (!textOf(pair)[side === "source" ? side : "target"].includes(`\n${key}\n`)) return false;
    const linked = new Set(pair.links.map((link) => link[at]));
    return keysOf(pair)[side].some((each, index) => each === key && !linked.has(index));
  };
}

function errorTest(link, errors) {
  return (pair) => Boolean(referenceOf(pair)) && errors(pair).some((each) => isLink(link, ...wordsOf(pair, each)));
}

function wrongLinks(pair) {
  const right = new Set(referenceOf(pair).map(([source, target]) => cellKey(source, target)));
  return pair.links.filter(([source, target]) => !right.has(cellKey(source, target)));
}

function missedLinks(pair) {
  const made = new Set(pair.links.map(([source, target]) => cellKey(source, target)));
  return referenceOf(pair).filter(([source, target, sure]) => sure && !made.has(cellKey(source, target)));
}

// Scripts written without spaces: there a search may run over the ends of tokens.
const UNSPACED = new RegExp(`[${["Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar"]
  .map((script) => `\\p{Script=${script}}`).join("")}]`, "u");

// Both sides in lower case, a line a word: made at the first search, and one test of all words of a side.
const madeTexts = new WeakMap();

function textOf(pair) {
  if (!madeTexts.has(pair)) {
    const [source, target] = ["source", "target"].map((side) => `\n${searchKey(pair[side].join("\n"))}\n`);
    madeTexts.set(pair, {source, target});
  }
  return madeTexts.get(pair);
}

// So that the first search finds the texts made: in pieces, whenever the page has nothing else to do.
function prepareSearch(pairs, from = 0) {
  const idle = window.requestIdleCallback ?? ((work) => setTimeout(() => work({timeRemaining: () => 8}), 50));
  idle((deadline) => {
    let at = from;
    for (; at < pairs.length && deadline.timeRemaining() > 2; at += 1) textOf(pairs[at]);
    if (at < pairs.length) prepareSearch(pairs, at);
  });
}

function hasTerm(pair, term) {
  const {source, target} = textOf(pair);
  const sought = term.whole ? `\n${term.text}\n` : term.text;
  if (source.includes(sought) || target.includes(sought)) return true;
  return !term.whole && UNSPACED.test(term.text)
    && [source, target].some((text) => text.replaceAll("\n", "").includes(term.text));
}

// null (unknown) comes last in either direction.
function known(value, sign) {
  return value === null || value === undefined ? Infinity : sign * value;
}

function compare(a, b) {
  return a === b ? 0 : a < b ? -1 : 1;
}

function trust(pair, sign) {
  return known(pair.score ?? pair.confidence, sign);
}

const byNumber = (a, b) => (a.kind === b.kind ? a.number - b.number : a.place - b.place);

function makeOrder(order, pairs) {
  const by = (...keys) => (a, b) => {
    for (const key of keys) {
      const found = compare(key(a), key(b));
      if (found) return found;
    }
    return byNumber(a, b);
  };
  const orders = {
    worst: () => by((pair) => known(pair.aer, -1), (pair) => -pair.wrong - pair.missed, (pair) => trust(pair, 1)),
    best: () => by((pair) => known(pair.aer, 1), (pair) => trust(pair, -1)),
    unsure: () => by((pair) => known(pair.confidence, 1)),
    confident: () => by((pair) => known(pair.confidence, -1)),
    longest: () => by((pair) => -pair.words),
    shortest: () => by((pair) => pair.words),
    number: () => byNumber,
    backwards: () => (a, b) => byNumber(b, a),
    random: () => by((pair) => scattered(pair.place)),
    rarest: () => {
      const rarity = rarities(pairs);
      return by((pair) => rarity.get(pair));
    },
  };
  return (orders[order] ?? orders.number)();
}

// A number that looks drawn at random but is the same each time: the finaliser of MurmurHash3 (Appleby).
function scattered(number) {
  let value = Math.imul(number ^ (number >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}

// How often the rarest word of each pair occurs among all.
function rarities(pairs) {
  const counts = {source: new Map(), target: new Map()};
  for (const pair of pairs) {
    for (const side of ["source", "target"]) {
      for (const word of keysOf(pair)[side]) counts[side].set(word, (counts[side].get(word) ?? 0) + 1);
    }
  }
  return new Map(pairs.map((pair) => [pair, ["source", "target"].reduce((least, side) =>
    keysOf(pair)[side].reduce((low, word) => Math.min(low, counts[side].get(word)), least), Infinity)]));
}

// Corrections of this report, kept by the browser where it allows that; only those of pairs whose words are the same.
function keptCorrections(data, byName) {
  const key = `liaison ${data.languages.join("-")} ${data.title ?? ""}`;
  let unsaved = false;
  let storage = null;
  let kept = null;
  try {
    storage = window.localStorage;
    kept = JSON.parse(storage.getItem(key) ?? "null");
  } catch {
    storage = null;
  }
  const same = ([id, value]) => byName.has(id) && value.words === wordsText(byName.get(id));
  try {
    if (kept) {
      const of = kept.of.filter(same).map(([id, {links, done}]) => [id, {links, done}]);
      const known = new Set(of.map(([id]) => id));
      const history = kept.history.every(({id}) => known.has(id) || byName.has(id)) && of.length === kept.of.length ? kept.history : [];
      kept = {of, history, place: history.length ? kept.place : 0};
      unsaved = Boolean(of.length) && !JSON.parse(storage.getItem(`${key} saved`) ?? "false");
    }
  } catch {
    kept = null;
  }
  function keep(value) {
    unsaved = true;
    const of = value.of.map(([id, each]) => [id, {...each, words: wordsText(byName.get(id))}]);
    try {
      storage?.setItem(key, JSON.stringify({...value, of}));
      storage?.setItem(`${key} saved`, "false");
    } catch {
      storage = null;
    }
  }
  function saved() {
    unsaved = false;
    try {
      storage?.setItem(`${key} saved`, "true");
    } catch {
      storage = null;
    }
  }
  return {annotations: makeAnnotations(kept, keep), unsaved: () => unsaved, saved};
}

function wordsText(pair) {
  return `${pair.source.join(" ")}\n${pair.target.join(" ")}`;
}
