// The views of the page: pairs, summary, comparison, lexicon, agreement; one is shown.

const VIEWS = ["pairs", "summary", "compare", "lexicon", "agreement"];

// `views`: by name what fills a panel each time it is shown. `onTurn(name)` is told which one is.
function makeTabs(views, onTurn) {
  const tabs = {current: "pairs", state: {}};
  const tab = (name) => byId(`tab-${name}`);
  const offered = () => VIEWS.filter((name) => !tab(name).hidden);

  // Show a view; `state` is what it is to show: a word, two runs.
  tabs.turn = (name, state = {}, {fill = true} = {}) => {
    if (!offered().includes(name)) return;
    tabs.current = name;
    tabs.state = state;
    for (const each of VIEWS) {
      const chosen = each === name;
      tab(each).setAttribute("aria-selected", chosen);
      tab(each).tabIndex = chosen ? 0 : -1;
      byId(`panel-${each}`).hidden = !chosen;
    }
    document.body.dataset.view = name;
    onTurn(name);
    if (fill) views[name]?.(byId(`panel-${name}`), state);
  };
  // Fill the view that is shown again: what it tells of has changed.
  tabs.renew = () => views[tabs.current]?.(byId(`panel-${tabs.current}`), tabs.state);
  tabs.offer = (names) => {
    for (const name of VIEWS) tab(name).hidden = !names.includes(name);
    byId("tabs").hidden = names.length < 2;
  };
  byId("tabs").addEventListener("click", (event) => {
    const chosen = event.target.closest("[role=tab]");
    if (chosen) tabs.turn(chosen.id.slice(4));
  });
  byId("tabs").addEventListener("keydown", (event) => {
    const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!by) return;
    const names = offered();
    const next = names[(names.indexOf(tabs.current) + by + names.length) % names.length];
    tabs.turn(next);
    tab(next).focus();
    event.preventDefault();
    event.stopPropagation();
  });
  return tabs;
}

// Close a menu when something else is clicked, or with the escape key.
function setUpMenus() {
  const open = () => document.querySelectorAll("details.menu[open]");
  document.addEventListener("click", (event) => {
    for (const menu of open()) if (!menu.contains(event.target) || event.target.closest(".menu button")) menu.open = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of open()) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });
}
