// The address of the page tells what is looked at, so that reloading, sharing and going back find it again:
// #<pair>?<filter>&view=<view>&<what the view shows>.

const VIEW_STATE = ["side", "word", "a", "b"];

// The address as it was last read or written: another one has been gone to, and is still to be read.
let seenAddress = location.hash;

function readAddress(start) {
  seenAddress = location.hash;
  const [id, text] = cut(location.hash.slice(1), "?");
  const query = new URLSearchParams(text);
  const state = {};
  for (const name of VIEW_STATE) if (query.get(name) !== null) state[name] = query.get(name);
  return {
    id: decoded(id),
    filter: {...start, ...given(query)},
    view: VIEWS.includes(query.get("view")) ? query.get("view") : "pairs",
    state,
    empty: !text,
  };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

// Those parts of a filter that an address has, where they are such as there can be.
function given(query) {
  const filter = filterFrom(query);
  const found = {};
  for (const name of Object.keys(NO_FILTER)) if (query.has(name)) found[name] = filter[name];
  return found;
}

function writeAddress({id, filter, start, view, state}) {
  const query = new URLSearchParams();
  for (const name of Object.keys(NO_FILTER)) if (filter[name] !== start[name]) query.set(name, filter[name]);
  if (view !== "pairs") {
    query.set("view", view);
    for (const name of VIEW_STATE) if (state[name]) query.set(name, state[name]);
  }
  const text = query.toString();
  const hash = `#${id === null ? "" : encodeURIComponent(id)}${text ? `?${text}` : ""}`;
  if (location.hash !== seenAddress) return;
  if (hash !== location.hash && !(hash === "#" && !location.hash)) history.replaceState(null, "", hash);
  seenAddress = location.hash;
}
