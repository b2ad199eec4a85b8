// What has gone wrong, at the top of the page until it is put right or read; and what is only said once.

// `again`, if given, is what to try once more.
function tellTrouble(error, again = null) {
  const bar = byId("trouble");
  const parts = [make("span", {}, error.message)];
  if (again) {
    const button = make("button", {type: "button"}, "Try again");
    button.addEventListener("click", () => {
      bar.hidden = true;
      again();
    });
    parts.push(button);
  }
  const close = make("button", {type: "button", "aria-label": "Close this message"}, "×");
  close.addEventListener("click", endTrouble);
  bar.replaceChildren(...parts, close);
  bar.hidden = false;
}

function endTrouble() {
  byId("trouble").hidden = true;
}

// For screen readers: said when whoever listens has nothing else to hear.
function announce(text) {
  byId("announce").textContent = text;
}
