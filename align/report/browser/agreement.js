// Two annotators: how far they agree, and in which pairs they do not.

async function showAgreement(panel, source, state) {
  const {annotators = [], annotator} = source.desk;
  const names = [...new Set([...annotators, annotator])];
  if (names.length < 2) {
    panel.replaceChildren(make("h2", {}, "Agreement"), make("p", {class: "note"},
      "Only one annotator has corrected pairs. Another one gives a name of their own at the top, and corrects the same pairs."));
    return;
  }
  const [a, b] = [state.a ?? names[0], state.b ?? names.find((name) => name !== (state.a ?? names[0]))];
  const form = chooseTwo(names.map((name) => [name, name]), a, b, "agreement", "Annotator");
  const result = make("div", {class: "result"});
  panel.replaceChildren(make("h2", {}, "Agreement"), form, result);
  const answer = await fillWhenReady(result, "Comparing …", () => source.agreement(a, b));
  if (answer) result.replaceChildren(...agreementParts(answer, a, b));
}

function agreementParts(answer, a, b) {
  if (!answer.pairs) return [make("p", {class: "verdict"}, answer.begun
    ? `${a} and ${b} have both begun ${counted(answer.begun, "pair")}, but not both marked one as done.`
    : `${a} and ${b} have corrected no pair both.`)];
  // Of one pair all samples are the same: they tell nothing of chance.
  const within = (figure, text) => (answer.pairs > 1 ? between(figure, text) : "");
  const cards = make("dl", {class: "facts cards"});
  const card = (name, value, remark) => cards.append(make("div", {}, make("dt", {}, name), make("dd", {}, make("b", {}, value), make("span", {}, ` ${remark}`))));
  card("Pairs both have done", answer.pairs.toLocaleString("en"), answer.begun ? `and ${answer.begun} begun` : "");
  for (const [name, title, remark] of [["aer_ab", `AER of ${b}`, `held against ${a}`], ["aer_ba", `AER of ${a}`, `held against ${b}`]]) {
    if (rateOf(answer[name]) !== null) card(title, percent(rateOf(answer[name])), `${remark}${within(answer[name], percent)}`);
  }
  for (const [name, title] of [["kappa", "Kappa: link or none"], ["kappa_kinds", "Kappa: sure, possible or none"]]) {
    const value = rateOf(answer[name]);
    if (value !== null) card(title, decimal(value, 3), within(answer[name], (each) => decimal(each, 2)).replace(/^, /, ""));
  }
  for (const [name, title] of [["f1", "F1 of all links"], ["f1_sure", "F1 of the sure links"]]) {
    if (rateOf(answer[name]) !== null) card(title, percent(rateOf(answer[name])), within(answer[name], percent).replace(/^, /, ""));
  }
  const parts = [cards];
  if (answer.table) {
    const rows = answer.categories.map((name, index) => ({name, counts: answer.table[index]}));
    parts.push(make("div", {class: "figures"}, tableFigure("Pairs of words", `what ${a} (rows) and ${b} (columns) say of each`,
      [`${a} ↓ ${b} →`, ...answer.categories], rows,
      (row) => [make("th", {scope: "row"}, row.name), ...row.counts.map((count) => make("td", {class: "n"}, count.toLocaleString("en")))],
      (row) => [row.name, ...row.counts])));
  }
  if (answer.differing?.length) {
    parts.push(make("div", {class: "figures"}, tableFigure("Pairs they differ in", "the most first", ["Pair", `Only ${a}`, `Only ${b}`, "Sure or possible"],
      answer.differing, (row) => [
        make("td", {}, make("a", {href: `#${row.id}`}, titleOf(row))),
        ...[row.only_a, row.only_b, row.unlike].map((value) => make("td", {class: "n"}, `${value}`)),
      ], (row) => [titleOf(row), row.only_a, row.only_b, row.unlike])));
  } else {
    parts.push(make("p", {}, "They agree in every pair."));
  }
  return parts;
}

// The interval of a figure [value, low, high], after a comma.
function between(figure, text) {
  return Array.isArray(figure) && typeof figure[1] === "number" ? `, ${text(figure[1])} to ${text(figure[2])}` : "";
}
