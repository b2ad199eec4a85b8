// Pairs and tables as text of the usual formats, and handing a file to whoever looks at the page.

// Without a prompt of the browser, from memory; nothing is sent anywhere.
function handOver(name, content, type) {
  const blob = content instanceof Blob ? content : new Blob([content], {type});
  const address = URL.createObjectURL(blob);
  const link = make("a", {href: address, download: name});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

// A name for files out of the title of the page.
function fileName(data, what) {
  const safe = (data.title || "pairs").replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[-.]+|-+$/g, "") || "pairs";
  return `${safe}-${what}`;
}

function pharaohLine(links) {
  return links.map(([source, target, sure]) => `${source}${sure ? "-" : "p"}${target}`).join(" ");
}

function jsonLine(pair, links) {
  return JSON.stringify({
    source: pair.source, target: pair.target,
    links: links.map(([source, target, sure]) => ({source, target, sure: Boolean(sure)})),
  });
}

// What XML cannot hold is left out; tokens stand with a space between, as the reader of this format expects.
function tmxText(rows, languages) {
  const escaped = (text) => text.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "")
    .replace(/[&<>"]/g, (mark) => ({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})[mark]);
  const side = (language, tokens) => `<tuv xml:lang="${escaped(language)}"><seg>${escaped(tokens.join(" "))}</seg></tuv>`;
  const units = rows.map(({pair, links}) => `<tu><prop type="x-word-alignment">${pharaohLine(links)}</prop>${
    side(languages[0], pair.source)}${side(languages[1], pair.target)}</tu>\n`);
  return `<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n<header creationtool="liaison" creationtoolversion="1" `
    + `segtype="sentence" o-tmf="pharaoh" adminlang="en" srclang="${escaped(languages[0])}" datatype="plaintext"/>\n<body>\n${
      units.join("")}</body>\n</tmx>\n`;
}

// Rows of text and numbers as RFC 4180 has them; text that a spreadsheet would run as a formula gets a ' before it.
function csvText(rows) {
  const cell = (value) => {
    const plain = value === null || value === undefined ? "" : String(value);
    const text = typeof value === "string" && /^\s*[=+\-@](?![\d.,\s]*%?$)./u.test(plain) ? `'${plain}` : plain;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

const FORMATS = {
  pharaoh: ["align", "text/plain;charset=utf-8", (rows) => rows.map(({links}) => `${pharaohLine(links)}\n`).join("")],
  jsonl: ["jsonl", "application/x-ndjson;charset=utf-8", (rows) => rows.map(({pair, links}) => `${jsonLine(pair, links)}\n`).join("")],
  tmx: ["tmx", "application/xml;charset=utf-8", (rows, languages) => tmxText(rows, languages)],
  csv: ["csv", "text/csv;charset=utf-8", (rows) => csvText([
    ["kind", "number", "source", "target", "links", "confidence", "aer", "wrong", "missed"],
    ...rows.map(({pair, links}) => [pair.kind, pair.number, pair.source.join(" "), pair.target.join(" "), pharaohLine(links),
      pair.confidence, pair.aer, pair.wrong, pair.missed]),
  ])],
};

// The menu above the list: what is found, as a file.
function setUpSaving(list, source, data) {
  byId("save-pairs").addEventListener("click", (event) => {
    const {format} = event.target.dataset;
    if (!format) return;
    const which = byId("save-links").value;
    if (source.kind === "server") {
      const link = make("a", {href: source.exportAddress(format, list.filter, which), download: ""});
      document.body.append(link);
      link.click();
      link.remove();
      return;
    }
    const rows = source.all(list.filter).map((pair) => ({
      pair, links: which === "run" ? pair.links.map(([s, t]) => [s, t, 1]) : pair.annotation?.links ?? [],
    }));
    const [ending, type, write] = FORMATS[format];
    handOver(`${fileName(data, "pairs")}.${ending}`, write(rows, data.languages), type);
    announce(`${counted(rows.length, "pair")} saved as ${format}.`);
  });
}

// A button that saves a table as it stands.
function csvButton(name, rows) {
  const button = make("button", {type: "button", class: "csv", title: "Save this table as CSV"}, "CSV");
  button.addEventListener("click", () => handOver(`${name}.csv`, csvText(rows), "text/csv;charset=utf-8"));
  return button;
}
