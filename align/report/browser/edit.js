// Correcting links by hand: with the mouse on cells, lines and words, or with the keys.

// `desk.view` is what is looked at; see start.js. What is changed is drawn at once and told to the source, one change
// after the other; what the source answers is drawn in turn. Changes that could not be told wait, and are not lost.
function makeEditor(source, view, {onChange, onShow}) {
  const waiting = [];
  let sending = false;
  const editor = {on: false, cursor: null, waiting};

  async function send() {
    if (sending) return;
    sending = true;
    let [renewed, refused] = [false, false];
    while (waiting.length) {
      const {id, ask, end} = waiting[0];
      let answer;
      try {
        answer = await ask();
      } catch (error) {
        if (isFinal(error, id)) {
          refused = true;
          await refuse(id, error);
          end(false);
          continue;
        }
        const trouble = error.status === 403 && !renewed ? await renew() : error;
        if (!trouble) {
          renewed = true;
          continue;
        }
        tellWaiting(trouble);
        end(false);
        break;
      }
      waiting.shift();
      end(true);
      if (!waiting.length && renewed) tellTrouble(new Error("The server was started again. All changes are saved; load the page again to see its pairs and models."));
      else if (!waiting.length && !refused) endTrouble();
      await takeIn(answer, id);
    }
    sending = false;
    tellState();
  }

  // Whether the source will never take it. One that was started again, or has a fault of its own, may take it later;
  // but what has no pair, undo and redo, may have been done before the fault, and would be done twice.
  function isFinal(error, id) {
    if (!(error instanceof Refusal)) return false;
    return error.status >= 500 ? id === null : error.status >= 400 && error.status !== 403;
  }

  // Turn to a source that was started again; what stands against it, null for nothing.
  async function renew() {
    try {
      await source.renew(waiting.map(({pair}) => pair).filter(Boolean));
      return null;
    } catch (error) {
      return error;
    }
  }

  function tellWaiting(error) {
    const changes = counted(waiting.length, "change");
    const text = error.message.replace(/[^.?!]$/, "$&.");
    tellTrouble(new Error(error.status === 403
      ? `${changes} ${waiting.length === 1 ? "is" : "are"} not saved: ${text}`
      : `Not saved yet: ${text} ${changes} will be sent again.`), send);
  }

  // The source will never take it: show what it has instead.
  async function refuse(id, error) {
    waiting.shift();
    tellTrouble(error);
    if (view.pair?.id === id) await onShow(id);
  }

  async function takeIn(answer, id) {
    if (!answer || answer.id === null) return; // of a pair that is not here
    const of = answer.id ?? id;
    if (view.pair?.id !== of) {
      if (answer.id !== undefined) await onShow(of);
      return;
    }
    // Answers to older changes would take back newer ones that are on their way.
    if (waiting.some((each) => each.id === of)) return;
    view.pair.annotation = answer.annotation ?? null;
    onChange();
  }

  // Whether the source has taken it; false where it has to be sent again, or was refused.
  function tell(pair, ask) {
    return new Promise((end) => {
      waiting.push({id: pair?.id ?? null, pair, ask, end});
      tellState();
      send();
    });
  }

  function tellState() {
    byId("edit-saved").textContent = waiting.length ? "saving…" : "";
    const counts = source.counts?.() ?? view.pair?.annotation ?? {};
    for (const name of ["undo", "redo"]) byId(name).disabled = !counts[name];
  }

  editor.tellState = tellState;
  editor.turn = (on = !editor.on) => {
    editor.on = on;
    byId("edit").setAttribute("aria-pressed", on);
    document.body.classList.toggle("editing", on);
    announce(on ? "Correcting. Arrow keys move in the matrix; S sure, P possible, N none." : "No longer correcting.");
    if (!on) editor.cursor = null;
    onChange(true);
  };
  editor.stateOf = (at) => stateIn(draftOf(view.pair), at.source, at.target);
  // Set one link, or what a click makes of it.
  editor.set = (at, state = nextState(editor.stateOf(at))) => {
    const {pair} = view;
    if (!pair || state === editor.stateOf(at)) return;
    const links = changedLinks(draftOf(pair), [[at.source, at.target, state]]);
    pair.annotation = {...pair.annotation, links, done: pair.annotation?.done ?? false};
    editor.cursor = at;
    onChange();
    announce(`${pair.source[at.source]} – ${pair.target[at.target]}: ${state === "none" ? "no link" : state}`);
    tell(pair, () => source.edit(pair.id, [[at.source, at.target, state]], pair.run));
  };
  editor.clear = () => {
    const {pair} = view;
    if (!pair?.annotation) return;
    pair.annotation = null;
    onChange();
    announce("All corrections of this pair are taken back.");
    tell(pair, () => source.clear(pair.id));
  };
  editor.undo = () => tell(null, async () => told(await ask(source.undo), "Taken back.", "Nothing to take back."));
  editor.redo = () => tell(null, async () => told(await ask(source.redo), "Made again.", "Nothing to make again."));
  // The pair is done: the next of the queue.
  editor.finish = async () => {
    const {pair} = view;
    if (!pair) return;
    pair.annotation = {...pair.annotation, links: draftOf(pair), done: true};
    onChange();
    if (await tell(pair, () => source.finish(pair.id, true, pair.run))) await editor.next();
  };
  editor.next = async () => {
    try {
      const {id} = await source.queue(byId("queue").value);
      if (id === null || id === undefined) announce("All pairs are done.");
      byId("queue-note").textContent = id === null || id === undefined ? "all pairs are done" : "";
      if (id !== null && id !== undefined) await onShow(id);
    } catch (error) {
      tellTrouble(error, editor.next);
    }
  };
  return editor;

  async function ask(question) {
    try {
      return await question();
    } catch (error) {
      if (error instanceof Refusal && error.status === 409) return null;
      throw error;
    }
  }

  function told(answer, done, nothing) {
    announce(answer ? done : nothing);
    return answer;
  }
}

// The cell of the matrix that the keys are at: it alone is reached by the tab key.
function putCursor(editor, view, at, focus = true) {
  const grid = document.querySelector("#matrix table");
  if (!grid || !editor.on) return;
  const [rows, columns] = [view.pair.source.length, view.pair.target.length];
  const inside = (value, count) => Math.min(count - 1, Math.max(0, value));
  editor.cursor = {source: inside(at.source, rows), target: inside(at.target, columns)};
  const cell = cellAt(grid, editor.cursor.source, editor.cursor.target);
  for (const other of grid.querySelectorAll("td[tabindex]")) if (other !== cell) undressCell(view.pair, other);
  cell.tabIndex = 0;
  cell.setAttribute("aria-label", cellText(view.pair, editor.cursor));
  if (focus) {
    cell.focus({preventScroll: true});
    cell.scrollIntoView({block: "nearest", inline: "nearest"});
  }
}

// Make the cells of the matrix a grid for screen readers while they can be changed.
function dressMatrix(editor, view) {
  const grid = document.querySelector("#matrix table");
  if (!grid) return;
  if (!editor.on) {
    grid.removeAttribute("role");
    for (const cell of grid.querySelectorAll("td[tabindex]")) undressCell(view.pair, cell);
    return;
  }
  grid.setAttribute("role", "grid");
  putCursor(editor, view, editor.cursor ?? {source: 0, target: 0}, false);
}

function edgeAt(pair, at) {
  return pair.edges.find((edge) => edge.source === at.source && edge.target === at.target);
}

// What the cell under the cursor is called: both words, for it may be all that is read out.
function cellText(pair, at) {
  const edge = edgeAt(pair, at);
  return `${pair.source[at.source]} – ${pair.target[at.target]}: ${edge ? edgeText(pair, edge) : "no link"}`;
}

function undressCell(pair, cell) {
  cell.removeAttribute("tabindex");
  const edge = edgeAt(pair, {source: cell.parentElement.sectionRowIndex, target: cell.cellIndex - 1});
  if (edge) cell.setAttribute("aria-label", edgeText(pair, edge));
  else cell.removeAttribute("aria-label");
}

// Drag from a word to a word of the other side.
function setUpDragging(editor, view) {
  const board = byId("lines");
  let from = null;
  let line = null;

  function wordAt(event) {
    return document.elementFromPoint(event.clientX, event.clientY)?.closest?.("#lines .word") ?? null;
  }
  function placeOf(word) {
    const [side, index] = word.dataset.word.split(" ");
    return {side, index: Number(index)};
  }
  function end() {
    line?.remove();
    for (const word of board.querySelectorAll(".aim")) word.classList.remove("aim");
    from = line = null;
  }
  board.addEventListener("pointerdown", (event) => {
    const word = event.target.closest?.(".word");
    if (!editor.on || !word || event.button) return;
    from = {word, x: event.clientX, y: event.clientY};
  });
  document.addEventListener("pointermove", (event) => {
    if (!from) return;
    if (!line) {
      if (Math.hypot(event.clientX - from.x, event.clientY - from.y) < 6) return;
      line = draw("path", {class: "draft"});
      view.drawing.curves.append(line);
    }
    const box = view.drawing.curves.getBoundingClientRect();
    const start = middle(from.word);
    line.setAttribute("d", `M${start.x} ${start.y}L${event.clientX - box.x} ${event.clientY - box.y}`);
    const aim = wordAt(event);
    for (const word of board.querySelectorAll(".aim")) word.classList.remove("aim");
    if (aim && placeOf(aim).side !== placeOf(from.word).side) aim.classList.add("aim");
    event.preventDefault();
  });
  document.addEventListener("pointerup", (event) => {
    if (!from) return;
    const [start, aim, dragged] = [placeOf(from.word), wordAt(event), Boolean(line)];
    end();
    if (!dragged) return;
    // The click that follows is not one on a word.
    const swallow = (click) => click.stopPropagation();
    document.addEventListener("click", swallow, {capture: true, once: true});
    setTimeout(() => document.removeEventListener("click", swallow, {capture: true}), 0);
    if (!aim) return;
    const stop = placeOf(aim);
    if (stop.side === start.side) return;
    editor.set({[start.side]: start.index, [stop.side]: stop.index});
  });
  document.addEventListener("pointercancel", end);
}
