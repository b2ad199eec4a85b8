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
  if (!answer) return;
  const {pairs, linked} = source.kind === "server" ? await source.status() : {pairs: 0, linked: 0};
  result.replaceChildren(...unfinished(result, linked, pairs, "Links are still being made", linksOn(source.desk, source.desk?.current)), ...lexiconParts(answer, side, source));
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
    pairsLink(answer.unlinked === undefined ? "where it has no link" : `where it has no link: ${answer.unlinked}`, {unlinked_word: `${side}:${answer.word}`, order: "number"}));
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
    make("td", {class: "examples"}, ...(row.examples ?? []).slice(0, 2).map((id) => exampleOf(id, answer.quotes?.[id], source))),
  ], (row) => [row.word, row.count, row.p_forward, row.p_reverse, ...(known ? [modelText(row.model)] : []), (row.examples ?? []).join(" ")], 50);
  return [times, table, ...expressionsOf(answer, source), ...unseenOf(answer)];
}

// What one occurrence of the word is linked to together.
function expressionsOf(answer, source) {
  const rows = (answer.expressions ?? []).filter((row) => row.words.includes(" "));
  if (!rows.length) return [];
  return [tableFigure("Several words at once", "what one occurrence of the word is linked to together", ["Words", "Times", "Pair"], rows,
    (row) => [make("td", {}, quoted(row.words)), make("td", {class: "n"}, row.count.toLocaleString("en")),
      make("td", {class: "examples"}, ...(row.examples ?? []).slice(0, 1).map((id) => exampleOf(id, answer.quotes?.[id], source)))],
    (row) => [row.words, row.count, (row.examples ?? []).join(" ")])];
}

// What the model's table has beside what these pairs show.
function unseenOf(answer) {
  if (!answer.model?.length) return [];
  const names = answer.model.slice(0, 12).flatMap((row, index) => [index ? ", " : "", quoted(row.word)]);
  return [make("p", {class: "note"}, "In the model's table, but not in these pairs: ", ...names)];
}

// An example: the number of its pair, and both sentences with the words in question marked.
function exampleOf(id, quote, source) {
  const link = exampleLink(id, source);
  if (!quote) return make("div", {}, link);
  const line = (side, at) => {
    const places = new Set(quote.linked.map((each) => each[at]));
    const first = Math.max(0, Math.min(...places) - 5);
    const words = quote[side].slice(first, first + 14).flatMap((word, index) =>
      [places.has(first + index) ? make("mark", {}, word) : word, " "]);
    return make("bdi", {}, first ? "… " : "", ...words, quote[side].length > first + 14 ? "…" : "");
  };
  return make("div", {class: "example"}, link, " ", line("source", 0), make("br"), line("target", 1));
}

function modelText(value) {
  if (value === null || value === undefined) return "–";
  return typeof value === "number" ? percent(value) : `${percent(value.p_forward)}, ${percent(value.p_reverse)}`;
}

function exampleLink(id, source) {
  const text = source.kind === "server" ? `${id}` : titleOf({kind: id.slice(0, id.indexOf("-")), number: id.slice(id.indexOf("-") + 1)});
  return make("a", {href: `#${encodeURIComponent(id)}`}, text);
}
