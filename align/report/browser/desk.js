// The tools beside the views: in a saved report, keeping the corrections; with a server, the model, the annotator,
// learning from the corrections, and how far the server is with linking.

function setUpDesk(source, data, {onRun, list}) {
  const bar = byId("desk");
  return source.kind === "server" ? serverDesk(bar, source, {onRun, list}) : reportDesk(bar, source, data);
}

function reportDesk(bar, source, data) {
  const note = make("span", {class: "note"});
  const menu = make("details", {class: "menu", id: "save-corrections"},
    make("summary", {}, "Save corrections"),
    make("div", {},
      saveButton("JSON lines, for liaison learn --gold", "jsonl"),
      saveButton("Pharaoh links", "pharaoh"),
      saveButton("Source text of the links", "source"),
      saveButton("Target text of the links", "target")));
  bar.replaceChildren(note, menu);

  function saveButton(text, format) {
    const button = make("button", {type: "button", "data-save": format}, text);
    button.addEventListener("click", () => save(format));
    return button;
  }

  function save(format) {
    const pairs = source.corrections().sort(byNumber);
    const rows = pairs.map((pair) => ({pair, links: pair.annotation.links}));
    const name = fileName(data, "corrections");
    if (format === "source" || format === "target") {
      const code = data.languages[format === "source" ? 0 : 1];
      handOver(`${name}.${code}`, pairs.map((pair) => `${pair[format].join(" ")}\n`).join(""), "text/plain;charset=utf-8");
      return;
    }
    const [ending, type, write] = FORMATS[format];
    handOver(`${name}.${ending}`, write(rows, data.languages), type);
    source.saved();
    corrected();
  }

  function corrected() {
    const count = source.corrections().length;
    bar.hidden = !count;
    note.textContent = `${counted(count, "pair")} corrected${source.unsaved() ? ", not yet in a file" : ", saved"}`;
    note.classList.toggle("unsaved", source.unsaved());
  }

  addEventListener("beforeunload", (event) => {
    if (source.unsaved()) event.preventDefault();
  });
  corrected();
  return {corrected, watch() {}};
}

const AFTER_CORRECTION = 3000; // milliseconds

function serverDesk(bar, source, {onRun, list}) {
  const {desk} = source;
  const runs = make("select", {id: "run", "aria-label": "Links of"});
  const name = make("input", {id: "annotator", size: 10, maxlength: 40, "aria-label": "Annotator", list: "annotators"});
  const names = make("datalist", {id: "annotators"});
  const learn = make("button", {type: "button", id: "learn", title: "Train the model further on the corrected pairs"}, "Learn from corrections");
  const note = make("span", {id: "linked", class: "note", role: "status"});
  const kept = make("span", {class: "note", id: "kept"});
  bar.replaceChildren(note, make("label", {}, "links of ", runs), make("label", {}, "annotator ", name, names), kept, learn);
  const learning = setUpLearning(source, {
    onRun: async () => { drawRuns(); await onRun(); },
    onLearnt: () => watch(),
  });

  function drawRuns() {
    fillSelect(runs, [...runNames(desk)], String(desk.current));
    runs.title = runName(desk, desk.current);
    name.value = desk.annotator;
    names.replaceChildren(...(desk.annotators ?? []).map((value) => make("option", {value})));
    learn.hidden = !desk.can_learn;
    kept.textContent = desk.folder ? "" : "corrections are kept until the server ends; start it with --save FOLDER to keep them";
    kept.title = desk.folder ? `kept in ${desk.folder}` : "";
    runs.parentElement.hidden = desk.runs.length < 2;
  }

  async function attempt(work) {
    try {
      await work();
      drawRuns();
      await onRun();
      editor.tellState();
    } catch (error) {
      drawRuns();
      tellTrouble(error);
    }
  }
  runs.addEventListener("change", () => {
    list.filter.run = "";
    attempt(() => source.run(Number(runs.value)));
  });
  name.addEventListener("change", () => attempt(() => source.annotator(name.value.trim())));
  learn.addEventListener("click", () => learning.ask());
  addEventListener("beforeunload", (event) => {
    if (editor.waiting.length) event.preventDefault();
  });

  // Links are made in the background: how far that is, until it is done.
  let timer = null;
  let before = null;
  let trouble = ""; // that was told last
  async function watch() {
    clearTimeout(timer);
    let status;
    try {
      status = await source.status();
    } catch {
      return;
    }
    const {pairs, linked, reading} = status;
    desk.pairs = pairs;
    editor.tellState();
    if (reading) note.textContent = `reading: ${reading.done.toLocaleString("en")} of ${reading.of ? reading.of.toLocaleString("en") : "?"}`;
    else note.textContent = linked < pairs ? `linked: ${linked.toLocaleString("en")} of ${pairs.toLocaleString("en")}` : "";
    const busy = Boolean(reading) || (linked < pairs && linksOn(desk, status.current));
    // Once, so that who has read it can close it; what is over goes.
    if (status.trouble && status.trouble !== trouble) tellTrouble(new Error(status.trouble));
    else if (trouble && !status.trouble && byId("trouble").innerText.includes(trouble)) endTrouble();
    ({trouble} = status);
    if (before !== null && !busy) await onRun();
    before = busy ? linked : null;
    if (busy) timer = setTimeout(watch, 1000);
    else if (trouble) timer = setTimeout(watch, AFTER_CORRECTION);
  }

  // The gold files are written a moment after a correction: whether they could be is asked for then.
  function corrected() {
    if (before !== null) return; // asked for all the time
    clearTimeout(timer);
    timer = setTimeout(watch, AFTER_CORRECTION);
  }

  drawRuns();
  watch();
  return {corrected, watch, learning};
}
