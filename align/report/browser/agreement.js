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
  if (!answer.pairs) return [make("p", {class: "verdict"}, `${a} and ${b} have corrected no pair both.`)];
  const cards = make("dl", {class: "facts cards"});
  const card = (name, value, remark) => cards.append(make("div", {}, make("dt", {}, name), make("dd", {}, make("b", {}, value), make("span", {}, ` ${remark}`))));
  card("Pairs both corrected", answer.pairs.toLocaleString("en"), "");
  card(`AER of ${b}`, percent(rateOf(answer.aer_ab)), `held against ${a}`);
  card(`AER of ${a}`, percent(rateOf(answer.aer_ba)), `held against ${b}`);
  for (const [name, value] of kappas(answer.kappa)) card(`Kappa${name}`, decimal(value, 3), kappaWords(value));
  const parts = [cards];
  if (answer.differing?.length) {
    parts.push(make("div", {class: "figures"}, tableFigure("Pairs they differ in", "the most first", ["Pair", "Cells"], answer.differing, (row) => [
      make("td", {}, make("a", {href: `#${row.id}`}, `${row.id}`)),
      make("td", {class: "n"}, `${row.cells ?? row.differ ?? row.count ?? ""}`),
    ], (row) => [row.id, row.cells ?? row.differ ?? row.count ?? ""])));
  } else {
    parts.push(make("p", {}, "They agree in every pair."));
  }
  return parts;
}

function kappas(kappa) {
  if (typeof kappa === "number") return [["", kappa]];
  return Object.entries(kappa ?? {}).filter(([, value]) => typeof value === "number").map(([name, value]) => [`, ${name.replaceAll("_", " ")}`, value]);
}

// The words of Landis and Koch (1977).
function kappaWords(value) {
  if (value < 0.2) return "slight";
  if (value < 0.4) return "fair";
  if (value < 0.6) return "moderate";
  return value < 0.8 ? "substantial" : "almost perfect";
}
