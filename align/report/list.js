// The list of pairs: filtered, ordered, one page of it drawn at a time.

const PAGE = 50;

function makeList(pairs, onSelect) {
  const list = {pairs, found: [], page: 0, current: null, kind: "all", errors: "any", order: "worst", terms: []};

  // Take in the filters and the order again; the current pair stays current where it is still found.
  list.refresh = () => {
    list.found = list.pairs
      .filter(SHOWN[list.kind][1])
      .filter(ERRORS[list.errors][1])
      .filter((pair) => list.terms.every((term) => hasTerm(pair, term)))
      .sort(ORDERS[list.order][1]);
    list.page = Math.max(0, Math.floor(list.found.indexOf(list.current) / PAGE));
    drawPage(list);
  };
  list.select = (pair) => {
    list.current = pair;
    const index = list.found.indexOf(pair);
    if (index >= 0 && Math.floor(index / PAGE) !== list.page) {
      list.page = Math.floor(index / PAGE);
      drawPage(list);
    }
    markCurrent(list);
    onSelect(pair);
  };
  // The pair so many places further on, staying inside the list.
  list.step = (by) => {
    if (!list.found.length) return;
    const index = list.found.indexOf(list.current);
    const next = index < 0 ? 0 : Math.min(list.found.length - 1, Math.max(0, index + by));
    list.select(list.found[next]);
  };
  list.turn = (by) => {
    list.page = Math.min(pagesOf(list) - 1, Math.max(0, list.page + by));
    drawPage(list);
    byId("list").parentElement.scrollTop = 0;
  };
  return list;
}

function pagesOf(list) {
  return Math.max(1, Math.ceil(list.found.length / PAGE));
}

function drawPage(list) {
  const shown = list.found.slice(list.page * PAGE, (list.page + 1) * PAGE);
  byId("list").tBodies[0].replaceChildren(...shown.map((pair) => rowOf(pair, list.terms)));
  byId("found").textContent = `${list.found.length === list.pairs.length ? "" : `${list.found.length} of `}${
    list.pairs.length} ${list.pairs.length === 1 ? "pair" : "pairs"}`;
  document.body.classList.toggle("blank", !list.pairs.length);
  byId("list").classList.toggle("unjudged", !list.pairs.some((pair) => pair.gold));
  const pages = pagesOf(list);
  byId("pages").hidden = pages === 1;
  byId("page-text").textContent = `page ${list.page + 1} of ${pages}`;
  byId("page-before").disabled = list.page === 0;
  byId("page-after").disabled = list.page === pages - 1;
  for (const head of document.querySelectorAll("#list th[data-order]")) {
    const own = head.dataset.order;
    const sorted = list.order === own ? "descending" : list.order === REVERSED[own] ? "ascending" : null;
    if (own && sorted) head.setAttribute("aria-sort", sorted);
    else head.removeAttribute("aria-sort");
  }
  markCurrent(list);
}

function markCurrent(list) {
  const rows = [...byId("list").tBodies[0].rows];
  const current = rows.find((row) => row.dataset.id === list.current?.id);
  for (const row of rows) {
    const button = row.querySelector("button");
    row.classList.toggle("current", row === current);
    button.tabIndex = row === (current || rows[0]) ? 0 : -1;
    if (row === current) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
  current?.scrollIntoView({block: "nearest"});
}

function rowOf(pair, terms) {
  const errors = make("div", {class: "errors"});
  for (const kind of ["wrong", "missed"]) {
    const count = pair[kind];
    if (count) errors.append(make("span", {class: kind, title: `${count} ${kind}`}, mark(kind), `${count}`));
  }
  const part = pair.part ? make("div", {class: "part"}, pair.part) : "";
  return make("tr", {"data-id": pair.id},
    make("td", {class: "no"}, make("button", {type: "button", "aria-label": `Show ${pair.title}`}, pair.title), part),
    make("td", {class: "text"}, sentence(pair, "source", terms), sentence(pair, "target", terms)),
    make("td", {class: "n"}, `${pair.words}`),
    make("td", {class: "n"}, pair.gold && pair.aer !== null ? (100 * pair.aer).toFixed(1) : "–", errors),
    make("td", {class: "n"}, decimal(pair.confidence)));
}

// One side on one line; the words found are marked, and the first of them is in view.
function sentence(pair, side, terms) {
  const hits = pair.keys[side].map((word) => terms.some((term) => isTerm(word, term)));
  const first = Math.max(0, hits.indexOf(true) - 3);
  const line = make("div", {dir: "auto"}, first > 0 ? "… " : "");
  // More than fits a line is not needed.
  pair[side].slice(first, first + 60).forEach((word, index) => {
    line.append(hits[first + index] ? make("mark", {}, word) : word, " ");
  });
  if (!pair[side].length) line.append(make("i", {class: "note"}, "empty"));
  return line;
}
