// The page: ties the list, the drawing of the pair, the corrections and the other views together.

const data = JSON.parse(byId("data").textContent);
const client = data.mode === "explorer" ? makeClient(data.token) : null;
const source = data.desk ? serverSource(data, client) : memorySource(data);
const startFilter = {...NO_FILTER, ...firstFilter()};
const list = makeList(source, {...startFilter}, {
  onSelect: showPair, onFilter: filterChanged, onFound: markHits,
});
const editor = makeEditor(source, view, {onChange: renewPair, onShow: select});
const desk = setUpDesk(source, data, {onRun: runChanged, onLearnt: runChanged, list});
const tabs = makeTabs({
  summary: (panel, state) => showSummary(panel, source, state),
  compare: (panel, state) => showComparison(panel, source, state),
  lexicon: (panel, state) => showLexicon(panel, source, state, data),
  agreement: (panel, state) => showAgreement(panel, source, state),
}, tellAddress);

// What is shown where the address says nothing: gold that was not trained on, worst first.
function firstFilter() {
  if (source.kind === "server") return {order: "number"};
  return {show: ["test", "gold"].find((kind) => source.kinds.has(kind)) ?? "all"};
}

async function select(id) {
  if (tabs.current !== "pairs") tabs.turn("pairs");
  await list.select(id);
}

async function openFromAddress() {
  const address = readAddress(startFilter);
  const changed = filterText(address.filter) !== filterText(list.filter);
  if (address.view !== tabs.current || address.view !== "pairs") tabs.turn(address.view, address.state);
  const known = address.id !== "" && source.has(address.id);
  if (address.id !== "" && !known && address.empty) return false; // the address of something else on this page
  if (changed) {
    Object.assign(list.filter, address.filter);
    fields.write(list.filter);
    if (!known) list.current = null;
    await list.refresh();
  }
  const id = known ? source.kind === "server" ? Number(address.id) : address.id : null;
  if (id === null) {
    if (changed && list.rows.length) await list.select(list.rows[0].id);
    return changed;
  }
  if (source.kind === "memory" && await source.placeOf(list.filter, id) < 0) await showAll();
  if (changed || view.pair?.id !== id) await list.select(id);
  return true;
}

async function showAll() {
  Object.assign(list.filter, {...NO_FILTER, order: list.filter.order});
  fields.write(list.filter);
  await list.refresh();
}

function filterChanged() {
  fields.write(list.filter);
  tellAddress();
}

function tellAddress() {
  writeAddress({id: view.pair?.id ?? null, filter: list.filter, start: startFilter, view: tabs.current, state: tabs.state});
}

// Another model is looked through, or the links of this one have changed.
async function runChanged() {
  await list.refresh();
  if (list.current !== null) await showPair(list.current);
  if (tabs.current !== "pairs") tabs.renew();
}

const fields = setUpFilters(list, source, {onReset: showAll});

async function start() {
  for (const element of document.querySelectorAll(".language")) {
    element.title = element.dataset.code;
    element.textContent = languageName(element.dataset.code);
  }
  for (const [index, option] of [...byId("bare-side").options].entries()) option.textContent = languageName(data.languages[index]);
  setUpPair();
  setUpMenus();
  setUpKeys({list, editor, view, pin, turnEditing, tabs});
  setUpOwn(source, client, async (id) => {
    await list.change({...NO_FILTER, order: "backwards"});
    await list.select(id);
    lookAtPair();
  });
  setUpUpload(source, client, list, desk);
  setUpSaving(list, source, data);
  // Whoever has pairs wants to see them first.
  if (byId("add")) byId("add").open = !source.count;
  tabs.offer(source.kind === "server" ? VIEWS : source.count ? ["pairs", "summary", "lexicon"] : ["pairs"]);
  showReasons(byId("reasons"), null, null);
  const address = readAddress(startFilter);
  Object.assign(list.filter, address.filter);
  fields.write(list.filter);
  await list.refresh();
  if (address.view !== "pairs") tabs.turn(address.view, address.state);
  if (!await openFromAddress() && list.rows.length && !view.pair) await list.select(list.rows[0].id);
  addEventListener("hashchange", openFromAddress);
}

start();
