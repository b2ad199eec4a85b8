// The links of a pair as a plain table: for reading out, and for copying.

function fillTable(container, pair) {
  if (!pair.edges.length) {
    container.replaceChildren(make("p", {class: "note"}, "No links."));
    return;
  }
  const head = ["Source", "Target", "Judgement", "Confidence", "Score"];
  const body = pair.edges.map((edge) => make("tr", {},
    make("td", {}, quoted(pair.source[edge.source]), ` ${edge.source}`),
    make("td", {}, quoted(pair.target[edge.target]), ` ${edge.target}`),
    make("td", {}, mark(edge.kind), ` ${kindText(pair, edge.kind)}`),
    make("td", {class: "n"}, edge.linked ? decimal(edge.confidence) : "–"),
    make("td", {class: "n"}, edge.linked ? decimal(edge.score) : "–")));
  const row = make("tr", {}, ...head.map((text) => make("th", {scope: "col"}, text)));
  container.replaceChildren(make("table", {class: "plain"}, make("thead", {}, row), make("tbody", {}, ...body)));
}
