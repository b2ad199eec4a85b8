// The summary of a run: how good it is, how sure, and which words go wrong; each number leads to its pairs.

async function showSummary(panel, source) {
  const answer = await fillWhenReady(panel, "Counting …", () => source.summary());
  if (!answer) return;
  panel.replaceChildren(make("h2", {}, "Summary"),
    ...unfinished(panel, answer.linked ?? answer.pairs, answer.pairs, "Links are still being made", linksOn(source.desk, source.desk?.current)),
    ...begunNote(answer), figureCards(answer), ...charts(answer), ...wordTables(answer));
}

// Pairs that are corrected but not done: what nobody has looked at in them counts as right.
function begunNote({begun, judged}) {
  if (!begun) return [];
  const [are, them] = begun === 1 ? ["is", "it"] : ["are", "them"];
  return [make("p", {class: "unfinished", id: "begun"},
    pairsLink(counted(begun, "corrected pair"), {show: "begun", order: "number"}), ` of the ${judged.toLocaleString("en")} judged ${are} not marked as done: `
    + `links that nobody has looked at yet count as right in ${them}, so the figures may be too good.`)];
}

// Ask for what a view shows: null where it failed, which the view tells, or where another view has been turned to.
async function fillWhenReady(panel, wait, ask) {
  panel.dataset.asked = Number(panel.dataset.asked ?? 0) + 1;
  const mine = panel.dataset.asked;
  const slow = setTimeout(() => panel.replaceChildren(make("p", {class: "note", role: "status"}, wait)), 150);
  try {
    const answer = await ask();
    return panel.dataset.asked === mine ? answer : null;
  } catch (error) {
    panel.replaceChildren(make("p", {class: "bad", role: "alert"}, error.message));
    return null;
  } finally {
    clearTimeout(slow);
  }
}

// A filter as an object, out of one or of the text of a query.
function asFilter(filter) {
  return typeof filter === "string" ? Object.fromEntries(new URLSearchParams(filter)) : filter ?? {};
}

function pairsLink(text, filter, extra = {}) {
  return make("a", {href: filterAddress({show: "all", ...asFilter(filter)}), ...extra}, text);
}

function figureCards(answer) {
  const cards = make("dl", {class: "facts cards"});
  const card = (name, value, remark) => cards.append(make("div", {}, make("dt", {}, name),
    make("dd", {}, make("b", {}, value), remark ? make("span", {}, ` ${remark}`) : "")));
  card("Pairs", pairsLink(answer.pairs.toLocaleString("en"), {order: "number"}),
    `${(answer.judged ?? 0).toLocaleString("en")} with gold or corrections`);
  if (answer.unlinked) card("Without any link", pairsLink(answer.unlinked.toLocaleString("en"), {errors: "unlinked", order: "longest"}));
  for (const [name, words] of [["aer", "AER"], ["precision", "Precision"], ["recall", "Recall"]]) {
    const [value, low, high] = answer[name] ?? [];
    if (typeof value !== "number") continue;
    const filter = answer.filters?.[name] ?? {order: "worst", errors: {aer: "errors", precision: "wrong", recall: "missed"}[name]};
    card(words, pairsLink(percent(value), filter),
      answer.judged > 1 && typeof low === "number" && typeof high === "number" ? `${(100 * low).toFixed(1)} to ${(100 * high).toFixed(1)} %` : "");
  }
  for (const [name, words, filter] of [["links", "Links made"], ["sure", "Sure in gold"], ["possible", "Possible in gold"],
    ["wrong_links", "Wrong links", {errors: "wrong"}], ["missed_links", "Missed links", {errors: "missed"}]]) {
    if (typeof answer[name] !== "number" || !(name === "links" || answer.judged)) continue;
    const text = answer[name].toLocaleString("en");
    card(words, filter ? pairsLink(text, {order: "worst", ...filter}) : text);
  }
  return cards;
}

function charts(answer) {
  const figures = [];
  const figure = (title, chart, note, rows) => figures.push(make("figure", {},
    make("figcaption", {}, make("b", {}, title), rows ? csvButton(title.toLowerCase().replaceAll(" ", "-"), rows) : ""),
    chart, make("p", {class: "note"}, note)));
  const calibration = (answer.calibration ?? []).filter((bin) => bin.links).map((bin) => {
    const text = `confidence ${decimal(bin.low)} to ${decimal(bin.high)}: ${bin.right} of ${counted(bin.links, "link")} right`;
    return {...bin, share: bin.right / bin.links, text,
      href: bin.filter ? filterAddress({show: "all", ...asFilter(bin.filter)}) : null};
  });
  if (calibration.length) {
    figure("Calibration", calibrationChart(calibration),
      "How often links of a confidence are right; on the dashed line the confidence says the truth. A point leads to its pairs.",
      [["low", "high", "confidence", "right", "links"], ...calibration.map((bin) => [bin.low, bin.high, bin.confidence, bin.right, bin.links])]);
  }
  const scores = answer.scores ?? [];
  if (scores.length) {
    const bins = scores.map((bin) => ({...bin, value: bin.pairs,
      href: bin.filter ? filterAddress({show: "all", ...asFilter(bin.filter)}) : null,
      text: `${decimal(bin.low)} to ${decimal(bin.high)}: ${counted(bin.pairs, "pair")}`}));
    figure(answer.scored ?? "Sentence scores", histogram(bins, {title: "Pairs by score", x: answer.scored ? "mean confidence" : "score"}),
      "How many pairs have such a score.", [["low", "high", "pairs"], ...bins.map((bin) => [bin.low, bin.high, bin.pairs])]);
  }
  if (answer.gap_curve?.length) {
    const points = answer.gap_curve.filter(([, gap, primal]) => gap > 0 && primal > 0).map(([pass, gap, primal]) => [pass, gap / primal]);
    figure("Training", lineChart(points, {title: "Duality gap by pass", x: "pass", y: "gap", log: true}),
      "The duality gap as a share of the objective: the weights are at most so far from the best ones.",
      [["pass", "gap", "primal"], ...answer.gap_curve]);
  }
  return figures.length ? [make("div", {class: "figures"}, ...figures)] : [];
}

function wordTables(answer) {
  const bySide = (rows, side) => rows.map((row) => ({...row, side}));
  const bare = answer.unaligned ?? {};
  const tables = [
    pairTable("Wrong links", "the words that are linked wrongly most often", answer.confusions, "wrong"),
    pairTable("Missed links", "sure links that are missing most often", answer.missed, "missed"),
    wordTable("Words without a link", "how often, of how many times they occur",
      [...bySide(bare.source ?? [], "source"), ...bySide(bare.target ?? [], "target")]
        .sort((a, b) => b.unlinked - a.unlinked), ["unlinked", "occurrences"]),
    wordTable("Words most often wrong", "links of the word that are wrong or missed",
      answer.wrong_words ?? [], ["wrong", "missed", "links"]),
  ].filter(Boolean);
  return tables.length ? [make("div", {class: "figures"}, ...tables)] : [];
}

function pairTable(title, note, rows, count) {
  if (!rows?.length) return null;
  return tableFigure(title, note, ["Source", "Target", count], rows, (row) => [
    make("td", {}, quoted(row.source)), make("td", {}, quoted(row.target)),
    make("td", {class: "n"}, pairsLink(`${row[count]}`, row.filter, {"aria-label": `${row[count]} ${count}: ${row.source} → ${row.target}`})),
  ], (row) => [row.source, row.target, row[count]]);
}

function wordTable(title, note, rows, counts) {
  if (!rows.length) return null;
  const present = counts.filter((name) => rows.some((row) => row[name] !== undefined));
  return tableFigure(title, note, ["Word", "Side", ...present], rows, (row) => [
    make("td", {}, quoted(row.word)), make("td", {}, row.side ?? ""),
    ...present.map((name, index) => make("td", {class: "n"},
      index || !row.filter ? `${row[name] ?? ""}` : pairsLink(`${row[name]}`, row.filter, {"aria-label": `${row[name]} ${name}: ${row.word}`}))),
  ], (row) => [row.word, row.side, ...present.map((name) => row[name])]);
}

// A table with a title, what it tells, a button to save it; the first rows, and the others when asked for.
function tableFigure(title, note, head, rows, cells, plain, most = 15) {
  const body = make("tbody", {}, ...rows.slice(0, most).map((row) => make("tr", {}, ...cells(row))));
  const numeric = (index) => typeof plain(rows[0])[index] === "number";
  const table = make("table", {class: "plain"},
    make("thead", {}, make("tr", {}, ...head.map((text, index) => make("th", {scope: "col", class: numeric(index) ? "n" : null}, text)))), body);
  const parts = [make("figcaption", {}, make("b", {}, title),
    csvButton(title.toLowerCase().replaceAll(" ", "-"), [head, ...rows.map(plain)])), make("p", {class: "note"}, note), table];
  if (rows.length > most) {
    const more = make("button", {type: "button"}, `Show all ${rows.length}`);
    more.addEventListener("click", () => {
      body.append(...rows.slice(most).map((row) => make("tr", {}, ...cells(row))));
      more.remove();
    });
    parts.push(more);
  }
  return make("figure", {class: "tabular"}, ...parts);
}

// Links are made behind the page: until all are there, say so and count again now and then.
const AGAIN = 2000; // milliseconds

function unfinished(panel, done, all, what, goesOn) {
  if (done >= all) return [];
  if (!goesOn) {
    return [make("p", {class: "unfinished"}, `Links of a file, which has those of ${done.toLocaleString("en")} of ${counted(all, "pair")}: what stands here is of those.`)];
  }
  const mine = panel.dataset.asked;
  setTimeout(() => {
    if (!panel.isConnected || panel.closest("[hidden]") || panel.dataset.asked !== mine) return;
    tabs.renew();
  }, AGAIN);
  const bar = make("progress", {max: all, value: done, "aria-label": what});
  return [make("p", {class: "unfinished", role: "status"}, bar,
    ` ${what}: ${done.toLocaleString("en")} of ${counted(all, "pair")} so far. What stands here is of those, and fills itself.`)];
}
