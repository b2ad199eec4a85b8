// The lexicon: a word, its translations with counts and probabilities, and pairs that show them.

async function showLexicon(panel, source, state, data) {
  const side = state.side === "target" ? "target" : "source";
  const word = state.word ?? "";
  const form = lexiconForm(data, side, word);
  const result = make("div", {class: "result"});
  panel.replaceChildren(make("h2", {}, "Lexicon"), form, result);
  if (!word) {
    result.append(make("p", {class: "note"}, "Give a word to see what it is linked to, how often, and where."));
    form.elements.word.focus();
    return;
  }
  const answer = await fillWhenReady(result, "Counting …", () => source.lexicon(side, word));
  if (answer) result.replaceChildren(...lexiconParts(answer, side, source));
}

function lexiconForm(data, side, word) {
  const choices = ["source", "target"].map((each, index) =>
    make("option", {value: each, selected: each === side}, languageName(data.languages[index])));
  const form = make("form", {class: "row lookup", role: "search", autocomplete: "off"},
    make("label", {}, "Word ", make("input", {name: "word", type: "search", value: word, dir: "auto"})),
    make("label", {}, "of ", make("select", {name: "side"}, ...choices)),
    make("button", {type: "submit", class: "main"}, "Look up"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    tabs.turn("lexicon", {side: form.elements.side.value, word: form.elements.word.value.trim()});
  });
  return form;
}

function lexiconParts(answer, side, source) {
  const times = make("p", {}, quoted(answer.word), ` occurs ${counted(answer.count, "time")}. `,
    pairsLink("All pairs with it", {words: `"${answer.word}"`, order: "number"}), " · ",
    pairsLink("where it has no link", {unlinked_word: `${side}:${answer.word}`, order: "number"}));
  if (!answer.translations.length) return [times, make("p", {class: "note"}, "It is never linked.")];
  const other = side === "source" ? "target" : "source";
  const known = answer.translations.some((row) => row.model !== undefined && row.model !== null);
  const head = ["Translation", "Links", side === "source" ? "Of its links" : "Of the other's links",
    side === "source" ? "Of the other's links" : "Of its links", ...(known ? ["In the model"] : []), "Pairs"];
  const table = tableFigure("Translations", `links of ${answer.word} in these pairs; a number leads to them`, head, answer.translations, (row) => [
    make("td", {}, make("a", {href: `#?view=lexicon&side=${other}&word=${encodeURIComponent(row.word)}`}, quoted(row.word))),
    make("td", {class: "n"}, pairsLink(row.count.toLocaleString("en"), row.filter, {"aria-label": `${row.count} links with ${row.word}`})),
    make("td", {class: "n"}, percent(row.p_forward)),
    make("td", {class: "n"}, percent(row.p_reverse)),
    ...(known ? [make("td", {class: "n"}, modelText(row.model))] : []),
    make("td", {}, ...(row.examples ?? []).slice(0, 3).flatMap((id, index) => [index ? " " : "", exampleLink(id, source)])),
  ], (row) => [row.word, row.count, row.p_forward, row.p_reverse, ...(known ? [modelText(row.model)] : []), (row.examples ?? []).join(" ")], 50);
  return [times, table];
}

function modelText(value) {
  if (value === null || value === undefined) return "–";
  return typeof value === "number" ? percent(value) : Object.values(value).map((each) => (typeof each === "number" ? percent(each) : each)).join(", ");
}

function exampleLink(id, source) {
  const text = source.kind === "server" ? `${id}` : titleOf({kind: id.slice(0, id.indexOf("-")), number: id.slice(id.indexOf("-") + 1)});
  return make("a", {href: `#${encodeURIComponent(id)}`}, text);
}
