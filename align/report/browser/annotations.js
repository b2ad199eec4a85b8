// Corrections as they are kept in a saved report: of each pair, with all that can be undone.

const STATES = ["none", "sure", "possible"];

// What a click on a cell makes of it.
function nextState(state) {
  return STATES[(STATES.indexOf(state) + 1) % STATES.length];
}

function stateIn(links, source, target) {
  const found = links.find((link) => link[0] === source && link[1] === target);
  return found ? (found[2] ? "sure" : "possible") : "none";
}

// Links after changes [source, target, state], in order of their words.
function changedLinks(links, changes) {
  const cells = new Map(links.map((link) => [cellKey(link[0], link[1]), link]));
  for (const [source, target, state] of changes) {
    if (state === "none") cells.delete(cellKey(source, target));
    else cells.set(cellKey(source, target), [source, target, state === "sure" ? 1 : 0]);
  }
  return [...cells.values()].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
}

// `kept` is what keep() was last called with, or null. An entry of the history: {id, before, after},
// each of these null or {links, done}.
function makeAnnotations(kept, keep) {
  const of = new Map(kept?.of ?? []);
  let history = kept?.history ?? [];
  let place = kept?.place ?? history.length;

  function put(id, value) {
    if (value) of.set(id, value);
    else of.delete(id);
    keep({of: [...of], history, place});
  }

  function record(id, after) {
    const before = of.get(id) ?? null;
    history = [...history.slice(0, place), {id, before, after}].slice(-MOST_HISTORY);
    place = history.length;
    put(id, after);
    return get(id);
  }

  function get(id) {
    const value = of.get(id);
    return value ? {...value, undo: place, redo: history.length - place} : null;
  }

  return {
    get,
    ids: () => [...of.keys()],
    size: () => of.size,
    counts: () => ({undo: place, redo: history.length - place}),
    edit: (id, changes, start) => {
      const now = of.get(id) ?? {links: start, done: false};
      return record(id, {...now, links: changedLinks(now.links, changes)});
    },
    finish: (id, done, start) => record(id, {...(of.get(id) ?? {links: start}), done}),
    clear: (id) => (of.has(id) ? record(id, null) : null),
    // Take the last change back, or make it again: {id, annotation}; null where there is none.
    undo: () => {
      if (!place) return null;
      place -= 1;
      const {id, before} = history[place];
      put(id, before);
      return {id, annotation: get(id)};
    },
    redo: () => {
      if (place === history.length) return null;
      const {id, after} = history[place];
      place += 1;
      put(id, after);
      return {id, annotation: get(id)};
    },
  };
}

const MOST_HISTORY = 2000;
