// The form above the list: what of a filter it shows and sets.

const TYPING = 150; // milliseconds of rest before a server is asked

function fillSelect(select, entries, chosen) {
  select.replaceChildren(...entries.map(([value, text]) =>
    make("option", {value, selected: value === chosen}, text)));
}

function setUpFilters(list, source, {onReset}) {
  const annotating = ["annotated", "begun", "done", "todo", ...(source.judged ? ["judged"] : [])];
  const kinds = Object.keys(SHOWN).filter((kind) => kind === "all" || annotating.includes(kind)
    || source.kinds === null || source.kinds.has(kind));
  const errors = Object.keys(ERRORS).filter((name) => source.judged || ["any", "unlinked"].includes(name));
  fillSelect(byId("kind"), kinds.map((kind) => [kind, SHOWN[kind]]), list.filter.show);
  fillSelect(byId("errors"), errors.map((name) => [name, ERRORS[name]]), list.filter.errors);
  fillSelect(byId("order"), source.orders.map((name) => [name, ORDERS[name]]), list.filter.order);

  let timer = null;
  function typed() {
    clearTimeout(timer);
    if (source.kind === "memory") list.change(read());
    else timer = setTimeout(() => list.change(read()), TYPING);
  }
  function read() {
    const value = (id) => byId(id).value.trim();
    const [from, to] = [value("link-source"), value("link-target")];
    return {
      words: byId("search").value,
      link: from || to ? `${from}>${to}` : "",
      unlinked_word: value("bare-word") ? `${value("bare-side")}:${value("bare-word")}` : "",
      confidence: value("low") || value("high") ? `${value("low") || 0}-${value("high") || 1}` : "",
      show: byId("kind").value,
      errors: byId("errors").value,
      order: byId("order").value,
    };
  }
  // Only what is not there already: a field that is being typed into keeps its cursor.
  function put(id, value) {
    if (byId(id).value.trim() !== value.trim()) byId(id).value = value;
  }
  function write(filter) {
    put("search", filter.words);
    const [from, to] = filter.link ? cut(filter.link, ">") : ["", ""];
    put("link-source", from);
    put("link-target", to);
    const [side, word] = filter.unlinked_word ? cut(filter.unlinked_word, ":") : [byId("bare-side").value, ""];
    byId("bare-side").value = side === "target" ? "target" : "source";
    put("bare-word", word);
    const [low, high] = filter.confidence ? cut(filter.confidence, "-") : ["", ""];
    put("low", low);
    put("high", high);
    byId("kind").value = filter.show;
    byId("errors").value = filter.errors;
    byId("order").value = filter.order;
    if (filter.unlinked_word || filter.confidence) byId("more").open = true;
    drawChips(filter);
  }
  function drawChips(filter) {
    byId("chips").replaceChildren(...filterChips(filter).map(([name, text]) => {
      const chip = make("button", {type: "button", class: "chip", "aria-label": `No longer only: ${text}`}, `${text} ×`);
      chip.addEventListener("click", () => list.change({[name]: ""}));
      return chip;
    }));
    byId("reset").hidden = filterText({...filter, order: NO_FILTER.order, run: ""}) === "";
  }
  for (const id of ["kind", "errors", "order", "bare-side"]) byId(id).addEventListener("change", () => list.change(read()));
  for (const id of ["search", "link-source", "link-target", "bare-word", "low", "high"]) byId(id).addEventListener("input", typed);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("reset").addEventListener("click", onReset);
  setUpColumns(list);
  byId("page-before").addEventListener("click", () => list.turn(-1));
  byId("page-after").addEventListener("click", () => list.turn(1));
  return {write};
}

// A click on the head of a column orders by it, and a second one the other way round.
function setUpColumns(list) {
  for (const head of document.querySelectorAll("#list th[data-order]")) {
    const name = head.dataset.order;
    if (!name) continue;
    const button = make("button", {type: "button"}, head.textContent);
    head.replaceChildren(button);
    button.addEventListener("click", () => list.change({order: list.filter.order === name ? REVERSED[name] : name}));
  }
  byId("list").tBodies[0].addEventListener("click", async (event) => {
    const row = event.target.closest("tr");
    if (!row) return;
    await list.select(list.rows[row.sectionRowIndex].id);
    lookAtPair();
  });
}
