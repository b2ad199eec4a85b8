// What is looked for and in which order. The same names and values stand in the address of the page and in requests.

const NO_FILTER = {
  words: "", link: "", show: "all", errors: "any", unlinked_word: "", fault_word: "", confidence: "", link_confidence: "",
  score: "", wrong_link: "", missed_link: "", run: "", other: "", differ: "", differ_link: "", ids: "", order: "worst",
};

const SHOWN = {
  all: "all pairs",
  test: "gold, test part",
  train: "gold, training part",
  gold: "gold",
  corpus: "corpus",
  own: "pasted",
  judged: "with gold or corrections",
  annotated: "corrected",
  begun: "corrected, not done",
  done: "corrected, done",
  todo: "not yet corrected",
};

const ERRORS = {
  any: "any",
  errors: "wrong or missed",
  wrong: "wrong",
  missed: "missed",
  unlinked: "none at all",
};

const ORDERS = {
  worst: "worst first",
  best: "best first",
  unsure: "least confident first",
  confident: "most confident first",
  longest: "longest first",
  shortest: "shortest first",
  number: "line number",
  backwards: "line number, last first",
  rarest: "rarest words first",
  random: "random",
  changed: "most changed first",
};

// Each order with the one that a second click on its column gives.
const REVERSED = {worst: "best", unsure: "confident", longest: "shortest", number: "backwards"};

// What is not as in NO_FILTER, as the text of a query; what a filter does not know is left out.
function filterText(filter) {
  const query = new URLSearchParams();
  for (const name of Object.keys(NO_FILTER)) {
    if (filter[name] && filter[name] !== NO_FILTER[name]) query.set(name, filter[name]);
  }
  return query.toString();
}

function filterFrom(text) {
  const query = new URLSearchParams(text);
  const filter = {...NO_FILTER};
  for (const name of Object.keys(NO_FILTER)) if (query.get(name)) filter[name] = query.get(name);
  if (!(filter.show in SHOWN)) filter.show = NO_FILTER.show;
  if (!(filter.errors in ERRORS)) filter.errors = NO_FILTER.errors;
  if (!(filter.order in ORDERS)) filter.order = NO_FILTER.order;
  return filter;
}

// An address of this page that shows such pairs, for the links in summaries. What a page begins with does not count:
// what is to be shown and the order are always said.
function filterAddress(filter) {
  const query = new URLSearchParams({show: NO_FILTER.show, order: NO_FILTER.order});
  for (const [name, value] of Object.entries(filter)) if (name in NO_FILTER && value) query.set(name, value);
  return `#?${query}`;
}

// In words, for the chips above the list: [name, text] of each part that no field of the form shows.
function filterChips(filter) {
  const chips = [];
  const [side, word] = cut(filter.unlinked_word, ":");
  if (filter.unlinked_word) chips.push(["unlinked_word", `“${word}” (${side}) has no link`]);
  const [faultSide, faultWord] = cut(filter.fault_word, ":");
  if (filter.fault_word) chips.push(["fault_word", `a link of “${faultWord}” (${faultSide}) is wrong or missed`]);
  if (filter.link_confidence) chips.push(["link_confidence", `a link of confidence ${rangeText(filter.link_confidence)}`]);
  if (filter.score) chips.push(["score", `score ${rangeText(filter.score)}`]);
  if (filter.wrong_link) chips.push(["wrong_link", `wrongly linked: ${filter.wrong_link.replace(">", " → ")}`]);
  if (filter.missed_link) chips.push(["missed_link", `missed: ${filter.missed_link.replace(">", " → ")}`]);
  if (filter.differ_link) chips.push(["differ_link", `one only links ${filter.differ_link.replace(">", " → ")}`]);
  if (filter.differ) chips.push(["differ", "where the two differ"]);
  else if (filter.other) chips.push(["other", "beside another run"]);
  if (filter.ids) chips.push(["ids", counted(filter.ids.split(",").length, "pair")]);
  return chips;
}

// Before and after the first place of a mark.
function cut(text, mark) {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + mark.length)];
}

// Words with spaces between; in double quotes: a whole word, else any part of one.
function searchTerms(text) {
  return [...searchKey(text).matchAll(/"([^"]*)"?|[^\s"]+/gu)]
    .map((found) => ({text: found[1] ?? found[0], whole: found[1] !== undefined}))
    .filter((term) => term.text);
}

function isTerm(word, term) {
  return term.whole ? word === term.text : word.includes(term.text);
}

// Whether "house>maison" is of these two words; one side may be left out ("house>").
function isLink(text, source, target) {
  return text === `${source}>${target}` || text === `${source}>` || text === `>${target}`;
}

function rangeText(text) {
  return rangeOf(text).join(" to ");
}

// [low, high] of "0.5-0.9"; what is missing or no number is 0 or 1.
function rangeOf(text) {
  const [low, high] = cut(text, "-").map((part) => (part.trim() === "" ? NaN : Number(part)));
  return [Number.isFinite(low) ? low : 0, Number.isFinite(high) ? high : 1];
}

// The words of a pair that a filter is about, by side: sets of their places.
function hitsOf(pair, filter) {
  const terms = searchTerms(filter.words);
  const sought = {source: [], target: []};
  for (const text of [filter.link, filter.wrong_link, filter.missed_link, filter.differ_link]) {
    if (!text) continue;
    const [source, target] = cut(searchKey(text), ">");
    sought.source.push(source);
    sought.target.push(target);
  }
  for (const text of [filter.unlinked_word, filter.fault_word]) {
    const [side, word] = cut(text, ":");
    if (side in sought) sought[side].push(searchKey(word));
  }
  const keys = keysOf(pair);
  return Object.fromEntries(["source", "target"].map((side) => [side, new Set(keys[side].flatMap((word, index) =>
    (sought[side].includes(word) || terms.some((term) => isTerm(word, term)) ? [index] : [])))]));
}
