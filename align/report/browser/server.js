// Pairs of the server this page came from: pages of them, corrections that are kept there, and what it calculates.

const SILENT = "The server does not answer: is it still running?";

class Refusal extends Error {
  constructor(text, status) {
    super(text);
    this.status = status;
  }
}

// An answer as JSON. What fails is told as an Error: a Refusal where the server has said so itself.
async function answerOf(asked) {
  let answer;
  try {
    answer = await asked;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error(SILENT);
  }
  let value;
  try {
    value = await answer.json();
  } catch {
    throw new Refusal(`The server's answer cannot be read (${answer.status}).`, answer.status);
  }
  if (!answer.ok) throw new Refusal(value.error ?? `The server has refused this (${answer.status}).`, answer.status);
  return value;
}

function pathOf(path, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined && value !== "") query.set(name, value);
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

function makeClient(token) {
  const client = {token}; // a server that is started again has another one
  client.post = (path, body) => answerOf(fetch(path, {
    method: "POST",
    headers: {"Content-Type": "application/json", ...(client.token ? {"X-Liaison-Token": client.token} : {})},
    body: JSON.stringify(body),
  }));
  client.get = (path, parameters, signal) => answerOf(fetch(pathOf(path, parameters), {
    signal, headers: client.token ? {"X-Liaison-Token": client.token} : {},
  }));
  return client;
}

function serverSource(data, client) {
  const {get, post} = client;
  const desk = data.desk;
  let history = {};
  let asked = null; // the page that is waited for: a newer question ends it

  function takeIn(answer) {
    if (answer.desk) Object.assign(desk, answer.desk);
    return answer;
  }

  async function noted(answer) {
    const {undo, redo} = answer.annotation ?? await get("/status");
    history = {undo, redo};
    return answer;
  }

  const runOf = (filter) => (filter.run === "" || filter.run === undefined ? desk.current : filter.run);

  return {
    kind: "server",
    desk,
    judged: true,
    kinds: null,
    orders: Object.keys(ORDERS),
    get count() { return desk.pairs; },
    async page(filter, offset, limit, at = null) {
      asked?.abort();
      asked = new AbortController();
      const answer = await get("/pairs", {...asQuery(filter), run: runOf(filter), offset, limit, at}, asked.signal);
      desk.pairs = answer.of;
      return {...answer, rows: answer.rows.map((row) => ({...row, wrong: row.wrong ?? 0, missed: row.missed ?? 0}))};
    },
    async placeOf(filter, id) {
      return (await get("/pairs", {...asQuery(filter), run: runOf(filter), limit: 1, at: id})).place ?? -1;
    },
    has: (id) => /^\d+$/.test(String(id)),
    async pair(id, {run = "", other = ""} = {}) {
      const shown = runOf({run});
      const answer = await get("/pair", {id, run: shown, other});
      const pair = {...answer.pair, run: Number(shown), annotation: answer.annotation ?? null};
      pair.words = pair.source.length + pair.target.length;
      pair.linked = linksOf(pair, answer);
      pair.whys = new Map(); // asked for when a link is pointed at
      if (answer.other) pair.beside = {links: answer.other, alone: "only here", gone: `only in ${runName(desk, other)}`};
      else if (answer.before) pair.beside = {links: answer.before, alone: "new since learning", gone: "no longer linked"};
      return pair;
    },
    why: (pair, source, target, run = "") => get("/why", {id: pair.id, source, target, run: runOf({run})}),
    // The links that are looked at are those a first correction begins with: a model may have been learnt meanwhile.
    edit: async (id, changes, run) => noted(await post("/edit", {id, changes, run})),
    finish: async (id, done, run) => noted(await post("/edit", {id, done, run})),
    clear: async (id) => noted(await post("/edit", {id, clear: true})),
    undo: async () => noted(await post("/undo", {})),
    redo: async () => noted(await post("/redo", {})),
    queue: (order) => get("/queue", {order}),
    annotator: async (name) => {
      takeIn(await post("/annotator", {name}));
      return noted({});
    },
    run: async (run) => takeIn(await post("/run", {run})),
    learn: (onlyDone = false) => post("/learn", {done: onlyDone}),
    learning: () => get("/learn"),
    // The server was started again: write to it if it has the same annotator, and the same pairs under their numbers.
    async renew(pairs) {
      const told = await pageData();
      const same = desk.folder && told?.desk?.folder === desk.folder && told.desk.annotator === desk.annotator;
      if (!same || !await haveSame(pairs, get)) throw new Refusal(CHANGED, 403);
      client.token = told.token;
    },
    // What can be undone is known from the last status, and from what each correction is answered with.
    counts: () => history,
    async status() {
      const status = await get("/status");
      history = {undo: status.undo, redo: status.redo};
      return status;
    },
    align: (question) => post("/align", question),
    summary: (run) => get("/summary", {run: runOf({run})}),
    compare: (a, b) => get("/compare", {a, b}),
    lexicon: (side, word, run) => get("/lexicon", {side, word, run: runOf({run})}),
    agreement: (a, b) => get("/agreement", {a, b}),
    exportAddress: (format, filter, links) => pathOf("/export", {format, ...asQuery(filter), run: runOf(filter), links}),
  };
}

const CHANGED = "the server was started again, and its pairs, links, annotator or folder are not those of this page. "
  + "Load the page again, and make them anew";

// What the page would be told if it were loaded now.
async function pageData() {
  let text;
  try {
    text = await (await fetch("/")).text();
  } catch {
    throw new Error(SILENT);
  }
  try {
    return JSON.parse(new DOMParser().parseFromString(text, "text/html").getElementById("data").textContent);
  } catch {
    return null; // the page of something else
  }
}

// Whether the server's pairs of these ids are these: their words, and the links that a first correction begins with.
async function haveSame(pairs, get) {
  for (const pair of new Set(pairs)) {
    let answer;
    try {
      answer = await get("/pair", {id: pair.id, run: pair.run});
    } catch (error) {
      if (error instanceof Refusal && error.status < 500) return false;
      throw error;
    }
    if (identityOf(answer.pair) !== identityOf(pair)) return false;
  }
  return true;
}

function identityOf({kind, number, source, target, gold, links}) {
  return JSON.stringify([kind, number, source, target, gold ?? null, links.map(([j, k]) => [j, k])]);
}

// What of a filter is told to the server.
function asQuery(filter) {
  const query = {};
  for (const name of Object.keys(NO_FILTER)) if (filter[name]) query[name] = filter[name];
  return query;
}

// Whether a run goes on to link pairs; a file has what it has, and nothing of pairs that were added.
function linksOn(desk, id) {
  return desk?.runs.find((run) => String(run.id) === String(id))?.kind !== "links";
}

function runName(desk, id) {
  return desk.runs.find((run) => String(run.id) === String(id)) ? runNames(desk).get(String(id)) : `run ${id}`;
}

// Names of runs by their ids: of a file its last part, unless two would be called the same.
function runNames(desk) {
  const short = desk.runs.map((run) => run.name.split(/[\\/]/).filter(Boolean).pop() ?? run.name);
  const unique = new Set(short).size === short.length;
  return new Map(desk.runs.map((run, index) => [String(run.id), unique ? short[index] : run.name]));
}
