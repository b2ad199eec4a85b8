// The list of pairs: a page of what is found is asked for and drawn at a time.

const PAGE = 50;

// `onSelect(id)` shows a pair; `onFilter()` is told when what is looked for has changed, `onFound()` when the current
// pair is still found.
function makeList(source, filter, {onSelect, onFilter, onFound}) {
  const list = {source, filter, rows: [], total: 0, of: source.count, offset: 0, current: null, place: -1};
  let asking = 0;

  // Ask for the page that begins at an offset, and draw it; a later question makes an earlier one void.
  // With `at`, that pair's page where it is found.
  list.load = async (from, at = null) => {
    asking += 1;
    const mine = asking;
    byId("list").setAttribute("aria-busy", "true");
    let answer;
    try {
      answer = await source.page(list.filter, from, PAGE, at);
    } catch (error) {
      if (mine === asking && error.name !== "AbortError") tellTrouble(error, () => list.load(from, at));
      return false;
    }
    if (mine !== asking) return false;
    const {rows, total, of, offset, linked} = answer;
    Object.assign(list, {rows, total, of, offset, linked});
    if (at !== null) list.place = answer.place ?? -1;
    drawPage(list);
    return true;
  };
  // The place of the current pair among all that are found; -1 where that is not known, or it is not found.
  async function findPlace() {
    const index = list.rows.findIndex((row) => row.id === list.current);
    list.place = index >= 0 ? list.offset + index : list.current === null ? -1 : await source.placeOf(list.filter, list.current);
  }
  // Take in the filter again; the current pair stays in view where it is still found.
  list.refresh = async () => {
    list.place = -1;
    return list.load(0, list.current);
  };
  // Where the current pair is no longer among what is found, the first that is becomes current.
  list.change = async (changes) => {
    Object.assign(list.filter, changes);
    onFilter();
    if (!await list.refresh()) return;
    if (list.place < 0 && list.rows.length) await list.select(list.rows[0].id);
    else onFound();
  };
  list.select = async (id) => {
    list.current = id;
    await findPlace();
    if (list.place >= 0 && !list.rows.some((row) => row.id === id)) await list.load(Math.floor(list.place / PAGE) * PAGE);
    markCurrent(list);
    await onSelect(id);
  };
  // The pair so many places further on, staying inside the list.
  list.step = async (by) => {
    if (!list.rows.length) return;
    const place = list.place < 0 ? list.offset : Math.min(list.total - 1, Math.max(0, list.place + by));
    if (place < list.offset || place >= list.offset + list.rows.length) {
      if (!await list.load(Math.floor(place / PAGE) * PAGE)) return;
    }
    const row = list.rows[place - list.offset];
    if (row) await list.select(row.id);
  };
  list.turn = async (by) => {
    const page = Math.min(pagesOf(list) - 1, Math.max(0, Math.floor(list.offset / PAGE) + by));
    await list.load(page * PAGE);
    byId("list").parentElement.scrollTop = 0;
  };
  // A pair has been corrected: its row tells so, in its place.
  list.update = (pair) => {
    if (pair.annotation && !list.judged) {
      list.judged = true;
      byId("list").classList.remove("unjudged");
    }
    const index = list.rows.findIndex((row) => row.id === pair.id);
    if (index < 0) return;
    const errors = errorsOf(pair);
    const annotated = pair.annotation ? (pair.annotation.done ? 2 : 1) : 0;
    list.rows[index] = {...list.rows[index], ...errors, annotated};
    const old = byId("list").tBodies[0].rows[index];
    const held = old.contains(document.activeElement);
    old.replaceWith(rowOf(list.rows[index], list.filter));
    markCurrent(list, false);
    if (held) byId("list").tBodies[0].rows[index].querySelector("button").focus();
  };
  return list;
}

function pagesOf(list) {
  return Math.max(1, Math.ceil(list.total / PAGE));
}

function counted(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

function drawPage(list) {
  byId("list").tBodies[0].replaceChildren(...list.rows.map((pair) => rowOf(pair, list.filter)));
  byId("list").removeAttribute("aria-busy");
  byId("found").textContent = (list.total === list.of ? "" : `${list.total.toLocaleString("en")} of `)
    + counted(list.of, "pair");
  document.body.classList.toggle("blank", !list.of);
  byId("nothing").hidden = list.total > 0 || !list.of;
  // A column that would be empty is left out; once it was of use it stays.
  list.judged ||= list.source.kind === "memory" ? list.source.judged : list.rows.some((row) => typeof row.aer === "number");
  byId("list").classList.toggle("unjudged", !list.judged);
  const pages = pagesOf(list);
  const page = Math.floor(list.offset / PAGE);
  byId("pages").hidden = pages === 1;
  byId("page-text").textContent = `page ${(page + 1).toLocaleString("en")} of ${pages.toLocaleString("en")}`;
  byId("page-before").disabled = page === 0;
  byId("page-after").disabled = page === pages - 1;
  for (const head of document.querySelectorAll("#list th[data-order]")) {
    const own = head.dataset.order;
    const {order} = list.filter;
    const sorted = order === own ? "descending" : order === REVERSED[own] ? "ascending" : null;
    if (own && sorted) head.setAttribute("aria-sort", sorted);
    else head.removeAttribute("aria-sort");
  }
  markCurrent(list);
}

function markCurrent(list, scroll = true) {
  const rows = [...byId("list").tBodies[0].rows];
  const current = rows.find((row) => row.dataset.id === String(list.current));
  for (const row of rows) {
    const button = row.querySelector("button");
    row.classList.toggle("current", row === current);
    button.tabIndex = row === (current || rows[0]) ? 0 : -1;
    if (row === current) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
  if (scroll) current?.scrollIntoView({block: "nearest"});
}

const ANNOTATED = ["", "corrected", "corrected, done"];

function rowOf(pair, filter) {
  const errors = make("div", {class: "errors"});
  for (const kind of ["wrong", "missed"]) {
    const count = pair[kind];
    if (count) errors.append(make("span", {class: kind, title: `${count} ${kind}`}, mark(kind), `${count}`));
  }
  const title = titleOf({...pair, part: ""});
  const parts = [];
  if (pair.part) parts.push(make("div", {class: "part"}, pair.part));
  if (pair.annotated) {
    parts.push(make("div", {class: "part corrected", title: ANNOTATED[pair.annotated]}, pair.annotated === 2 ? "✓ done" : "✎ corrected"));
  }
  if (pair.changed) parts.push(make("div", {class: "part changed"}, `${pair.changed} changed`));
  return make("tr", {"data-id": pair.id},
    make("td", {class: "no"}, make("button", {type: "button", "aria-label": `Show ${title}`}, title), ...parts),
    make("td", {class: "text"}, sentence(pair, "source", filter), sentence(pair, "target", filter)),
    make("td", {class: "n"}, `${pair.words}`),
    make("td", {class: "n"}, pair.aer !== null && pair.aer !== undefined ? (100 * pair.aer).toFixed(1) : "–", errors),
    make("td", {class: "n"}, decimal(pair.confidence)));
}

// One side on one line; the words found are marked, and the first of them is in view.
function sentence(pair, side, filter) {
  const hits = hitsOf(pair, filter)[side];
  const before = matchMedia("(max-width: 30rem)").matches ? 1 : 3;
  const first = hits.size ? Math.max(0, Math.min(...hits) - before) : 0;
  const line = make("div", {dir: "auto"}, first > 0 ? "… " : "");
  // More than fits a line is not needed.
  pair[side].slice(first, first + 60).forEach((word, index) => {
    line.append(hits.has(first + index) ? make("mark", {}, word) : word, " ");
  });
  if (!pair[side].length) line.append(make("i", {class: "note"}, "empty"));
  return line;
}
