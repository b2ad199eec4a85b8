// Two runs side by side: how much they differ, who is right where that is known, in which words and kinds of words.

async function showComparison(panel, source, state) {
  const {runs, current} = source.desk;
  if (runs.length < 2) {
    panel.replaceChildren(make("h2", {}, "Compare"), make("p", {class: "note"},
      "There is one run only. Start the server with --compare and another model or a file of links, or learn from corrections."));
    return;
  }
  const other = runs.find((run) => run.id !== current);
  const [a, b] = [state.a ?? String(current), state.b ?? String(other.id)];
  const form = chooseTwo([...runNames(source.desk)], a, b, "compare", "Run");
  const result = make("div", {class: "result"});
  panel.replaceChildren(make("h2", {}, "Compare"), form, result);
  const answer = await fillWhenReady(result, "Comparing …", () => source.compare(a, b));
  if (!answer) return;
  const [done, late, run] = answer.linked_b < answer.linked_a ? [answer.linked_b, "B", b] : [answer.linked_a, "A", a];
  result.replaceChildren(...unfinished(result, done, answer.of, `The links of ${late} are still being made`, linksOn(source.desk, run)),
    ...comparisonParts(answer, {a, b, source}));
}

// Two selects of the same things; another choice turns to the view again.
function chooseTwo(entries, a, b, viewName, what) {
  const select = (name, chosen) => {
    const element = make("select", {name, "aria-label": `${what} ${name.toUpperCase()}`});
    fillSelect(element, entries, chosen);
    return element;
  };
  const form = make("form", {class: "row lookup"}, make("label", {}, "A ", select("a", a)), make("label", {}, "B ", select("b", b)));
  form.addEventListener("change", () => tabs.turn(viewName, {a: form.elements.a.value, b: form.elements.b.value}));
  return form;
}

function comparisonParts(answer, {a, b, source}) {
  const differing = {run: a, other: b, differ: "1", order: "number"};
  const nameA = runName(source.desk, a);
  const nameB = runName(source.desk, b);
  const parts = [verdictOf(answer, nameA, nameB)];
  const cards = make("dl", {class: "facts cards"});
  const card = (name, value, remark = "") => cards.append(make("div", {}, make("dt", {}, name), make("dd", {}, make("b", {}, value), make("span", {}, ` ${remark}`))));
  card("Pairs that differ", pairsLink(answer.differ.toLocaleString("en"), differing), `of ${counted(answer.pairs, "pair")}`);
  if (answer.both !== undefined) card("Links of both", linkCount(answer.both));
  card("Only in A", linkCount(answer.only_a), soundness(answer.only_a));
  card("Only in B", linkCount(answer.only_b), soundness(answer.only_b));
  parts.push(cards);
  const tables = [];
  const words = answer.words ?? [];
  if (words.length) {
    tables.push(tableFigure("Words linked by one only", `how often A (${nameA}) and B (${nameB}) link them alone`,
      ["Source", "Target", "A", "B"], words, (row) => [
        make("td", {}, quoted(row.source)), make("td", {}, quoted(row.target)),
        make("td", {class: "n"}, pairsLink(`${row.a}`, {...differing, ...asFilter(row.filter)}, {"aria-label": `${row.a} only in A: ${row.source} → ${row.target}`})),
        make("td", {class: "n"}, pairsLink(`${row.b}`, {...differing, run: b, other: a, ...asFilter(row.filter_b ?? row.filter)}, {"aria-label": `${row.b} only in B: ${row.source} → ${row.target}`})),
      ], (row) => [row.source, row.target, row.a, row.b]));
  }
  if (answer.kinds?.length) {
    tables.push(tableFigure("By kind of word", "links that only one of them makes, and how many of these are right where that is known",
      ["Kind", "Only A", "right", "Only B", "right", ...(answer.judged ? ["Errors of A", "of B", "Better"] : [])], answer.kinds, (row) => [
        make("td", {}, row.filter ? pairsLink(row.kind, row.filter) : row.kind), ...kindNumbers(row, answer).map((value) => make("td", {class: "n"}, `${value ?? "–"}`)),
        ...(answer.judged ? [make("td", {class: "short"}, betterIn(row))] : []),
      ], (row) => [row.kind, ...kindNumbers(row, answer), ...(answer.judged ? [betterIn(row)] : [])]));
  }
  parts.push(make("div", {class: "figures"}, ...tables));
  return parts;
}

function linkCount(side) {
  return typeof side === "number" ? side.toLocaleString("en") : (side?.links ?? 0).toLocaleString("en");
}

// What the gold says of links that only one has.
function soundness(side) {
  if (typeof side !== "object" || side === null) return "";
  const parts = [];
  const right = (side.sure ?? 0) + (side.possible ?? 0);
  if (right || side.wrong) parts.push(`${right} right, ${side.wrong ?? 0} wrong`);
  if (side.unknown) parts.push(`${side.unknown} nobody has judged`);
  return parts.join(", ");
}

function verdictOf(answer, nameA, nameB) {
  const {aer} = answer;
  if (!aer || typeof rateOf(aer.a) !== "number" || typeof rateOf(aer.b) !== "number") {
    return make("p", {class: "verdict"}, answer.pairs ? "No pair has gold or corrections: nobody can say which is right."
      : "There are no pairs yet that both have linked.");
  }
  const [a, b] = [rateOf(aer.a), rateOf(aer.b)];
  const [value, low, high] = aer.difference ?? [b - a];
  const known = typeof low === "number" && typeof high === "number";
  const sure = known && (low > 0 || high < 0);
  const better = a === b ? "Both err alike" : `${a < b ? "A" : "B"} (${a < b ? nameA : nameB}) errs less`;
  const text = `${better}: AER ${percent(a)} for A, ${percent(b)} for B`
    + (known ? `; difference ${points(Math.abs(value))} points, 95 % interval ${ends(value, low, high).map(points).join(" to ")}` : "")
    + (known && a !== b ? (sure ? ": more than chance." : ": it may be chance.") : ".");
  return make("p", {class: "verdict"}, text);
}

function kindNumbers(row, answer) {
  return [row.only_a, row.right_a, row.only_b, row.right_b, ...(answer.judged ? [row.errors_a, row.errors_b] : [])];
}

// Which run errs less in a kind of words, and whether that is more than chance.
function betterIn(row) {
  if (row.errors_a === row.errors_b || row.errors_a === undefined) return "alike";
  const [, low, high] = row.difference ?? [];
  const sure = typeof low === "number" && (low > 0 || high < 0);
  return `${row.errors_a < row.errors_b ? "A" : "B"}${sure ? "" : ", may be chance"}`;
}

function points(share) {
  return `${share < 0 ? "−" : ""}${(100 * Math.abs(share)).toFixed(1)}`;
}

// The ends of an interval as those of a difference that is told without its sign.
function ends(value, low, high) {
  return value < 0 ? [-high, -low] : [low, high];
}
