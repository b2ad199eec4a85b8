// What the keys do: through the pairs, from word to word, and in the matrix while correcting.

const STATE_KEYS = {s: "sure", p: "possible", n: "none", Delete: "none", Backspace: "none"};
const ARROWS = {ArrowLeft: [0, -1], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowDown: [1, 0]};

function setUpKeys({list, editor, view, pin, turnEditing, tabs}) {
  document.addEventListener("keydown", (event) => {
    if (byId("keys").open || event.altKey || tabs.current !== "pairs" || event.defaultPrevented) return;
    if (event.target.closest("input:not([type=checkbox]):not([type=radio]), select, textarea")) return;
    const control = event.ctrlKey || event.metaKey;
    const done = control ? withControl(event) : plain(event) || arrow(event);
    if (done) event.preventDefault();
  });

  function withControl(event) {
    const key = event.key.toLowerCase();
    if (!editor.on) return false;
    if (key === "y" || (key === "z" && event.shiftKey)) editor.redo();
    else if (key === "z") editor.undo();
    else return false;
    return true;
  }

  function plain(event) {
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (key === "?") byId("keys").showModal();
    else if (key === "Escape") escape();
    else if (key === "e") turnEditing();
    else if (key === "/") byId("search").focus();
    else return editor.on && view.pair ? correcting(event, key) : false;
    return true;
  }

  function escape() {
    if (view.pinned || !editor.on) pin(null);
    else turnEditing(false);
  }

  function correcting(event, key) {
    const onButton = event.target.closest("button, summary, a, input, label");
    if (key === "u") editor.undo();
    else if (key === "Enter" && !onButton) editor.finish();
    else if (key in STATE_KEYS && aim(event)) editor.set(aim(event), STATE_KEYS[key]);
    else if (key === " " && !onButton && aim(event)) editor.set(aim(event));
    else return false;
    return true;
  }

  // The cell that a key is for: that of a word and a word kept of the other side, else the cursor's.
  function aim(event) {
    const word = event.target.closest("#lines .word");
    if (!word) return editor.cursor;
    const [side, index] = word.dataset.word.split(" ");
    const other = side === "source" ? "target" : "source";
    return view.pinned?.[other] === undefined ? null : {[side]: Number(index), [other]: view.pinned[other]};
  }

  function arrow(event) {
    const by = ARROWS[event.key];
    if (!by || event.shiftKey) return false;
    const step = by[0] + by[1];
    const word = event.target.closest("#lines .word");
    if (word) {
      stepWord(word, step);
    } else if (editor.on && view.pair && !event.target.closest("#list")) {
      const at = editor.cursor ?? {source: 0, target: 0};
      putCursor(editor, view, {source: at.source + by[0], target: at.target + by[1]});
    } else if (by[0] && !mayStep(event.target)) {
      return false;
    } else {
      stepPair(event, step);
    }
    return true;
  }

  async function stepPair(event, step) {
    const inList = event.target.closest("#list tbody");
    await list.step(step);
    if (inList) document.querySelector("#list tr.current button")?.focus();
  }
}

// Up and down scroll what can be scrolled; they go to other pairs from the list, or where nothing scrolls.
function mayStep(element) {
  if (element.closest("#list")) return true;
  const page = document.scrollingElement;
  return element === document.body && page.scrollHeight <= page.clientHeight;
}

function stepWord(word, by) {
  const row = [...word.parentElement.querySelectorAll(".word")];
  const backwards = getComputedStyle(word.parentElement).direction === "rtl" ? -1 : 1;
  const next = row[row.indexOf(word) + by * backwards];
  if (!next) return;
  word.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}
