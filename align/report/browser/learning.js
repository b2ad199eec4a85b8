// Learning from the corrections: the gap as it falls, whether it got better, what changed, and the way back.

const ASK_EVERY = 400; // milliseconds

function setUpLearning(source, {onRun, onLearnt}) {
  const panel = byId("learning");
  let began = Date.now();

  // Links that nobody has looked at would be learnt as right ones: whoever has begun pairs says which are meant.
  async function ask() {
    try {
      const {state, next} = await source.learning();
      if (state === "running" || !next?.begun) return await begin(false);
      drawQuestion(next);
    } catch (error) {
      tellTrouble(error);
    }
  }

  async function begin(onlyDone) {
    try {
      await source.learn(onlyDone);
    } catch (error) {
      tellTrouble(error);
      return;
    }
    began = Date.now();
    panel.hidden = false;
    await follow();
  }

  function drawQuestion({pairs, begun}) {
    const choice = (text, onlyDone, extra) => {
      const button = make("button", {type: "button", ...extra}, text);
      button.addEventListener("click", () => begin(onlyDone));
      return button;
    };
    const done = pairs - begun;
    const buttons = [choice(`Learn from all ${counted(pairs, "corrected pair")}`, false, {id: "learn-all", class: done ? null : "main"})];
    if (done) buttons.unshift(choice(`Learn from the ${done.toLocaleString("en")} done`, true, {id: "learn-done", class: "main"}));
    panel.replaceChildren(make("h2", {}, "Learn from which pairs?"), closeButton(), make("div", {class: "outcome"},
      make("p", {}, `${begunText(begun, pairs)} What nobody has looked at yet there would be learnt as right.`),
      make("p", {class: "row"}, ...buttons)));
    panel.hidden = false;
    buttons[0].focus();
  }

  function closeButton() {
    const close = make("button", {type: "button", class: "close", "aria-label": "Close what was learnt"}, "×");
    close.addEventListener("click", () => { panel.hidden = true; });
    return close;
  }

  async function follow() {
    let state;
    try {
      state = await source.learning();
    } catch (error) {
      tellTrouble(error, follow);
      return;
    }
    if (state.state === "idle") return;
    panel.hidden = false;
    drawState(state);
    if (state.state === "running") {
      setTimeout(follow, ASK_EVERY);
    } else if (state.state === "done") {
      announce(outcome(state));
      await source.run(state.run);
      await onRun();
      onLearnt();
      await watchLinks(state);
    }
  }

  // The new model links all pairs behind the page: how many have changed is known in the end.
  async function watchLinks(state) {
    const {pairs, linked, current} = await source.status();
    if (current !== state.run || panel.hidden) return;
    const now = {...await source.learning(), linked, of: pairs};
    if (now.state !== "done" || now.run !== state.run) return;
    drawState(now);
    if (linked < pairs) setTimeout(() => watchLinks(state).catch(tellTrouble), 2 * ASK_EVERY);
    else await onRun();
  }

  function drawState(state) {
    const parts = [make("h2", {}, TITLES[state.state]), closeButton()];
    const words = make("div", {class: "outcome"});
    if (state.state === "running") {
      const last = state.passes?.[state.passes.length - 1];
      words.append(make("p", {}, `From ${counted(state.pairs ?? 0, "corrected pair")}${state.begun ? `, ${state.begun.toLocaleString("en")} of them not marked as done` : ""}, for ${secondsSince(began)}. ${last
        ? `Pass ${last[0]}: the duality gap is ${gapText(last)} of the objective; below 0.1 % the weights are as good as they get.`
        : "The features of the corrected pairs are computed; weights are learnt from most of them and tried on the others."}`));
    }
    if (state.state === "failed") words.append(make("p", {class: "bad"}, state.error ?? "It failed."));
    if (state.state === "done") words.append(...doneParts(state));
    parts.push(words);
    if (state.passes?.length) parts.push(gapChart(state.passes));
    panel.replaceChildren(...parts);
  }

  function doneParts(state) {
    const back = make("button", {type: "button", id: "go-back"}, "Go back to the model before");
    back.addEventListener("click", async () => {
      try {
        await source.run(state.parent);
        await onRun();
        panel.hidden = true;
        announce("The model before is used again.");
      } catch (error) {
        tellTrouble(error);
      }
    });
    const parts = [make("p", {class: "verdict"}, outcome(state))];
    if (state.begun) parts.push(make("p", {class: "note", id: "learnt-begun"}, begunText(state.begun, state.pairs)));
    if (state.of === undefined || state.linked < state.of) {
      parts.push(make("p", {}, `The pairs are being linked anew: ${(state.linked ?? 0).toLocaleString("en")} of ${(state.of ?? source.desk.pairs).toLocaleString("en")}.`));
    } else if (state.changed) {
      parts.push(make("p", {}, make("a", {href: filterAddress({show: "all", order: "changed"}), id: "show-changed"},
        `Show the ${counted(state.changed, "pair")} with other links now`)));
    } else if (state.changed === 0) {
      parts.push(make("p", {}, "No pair has other links now."));
    }
    parts.push(keptPart(state));
    parts.push(make("p", {}, back));
    return parts;
  }

  // One that runs already; what is long over is not told again.
  source.learning().then((state) => state.state === "running" && follow()).catch(() => {});
  return {ask};
}

// How many corrected pairs are only begun.
function begunText(begun, pairs) {
  const all = pairs === 1 ? "The corrected pair" : begun >= pairs ? `All ${pairs.toLocaleString("en")} corrected pairs` : null;
  if (all) return `${all} ${pairs === 1 ? "is" : "are"} not marked as done.`;
  return `${begun.toLocaleString("en")} of ${counted(pairs, "corrected pair")} ${begun === 1 ? "is" : "are"} not marked as done.`;
}

// Where the new model is, and how to use it elsewhere; or why it is nowhere.
function keptPart({saved, not_saved: trouble}) {
  if (saved) {
    return make("p", {class: "note", id: "kept-model"}, "The new model is kept, for this desk and for every other command: ",
      make("code", {dir: "auto"}, `liaison links -m ${shellWord(saved)}`));
  }
  if (trouble) return make("p", {class: "bad", id: "kept-model"}, `The new model is kept until the server ends only. ${trouble}`);
  return make("p", {class: "note", id: "kept-model"}, "The new model is kept until the server ends. To keep it, start the server with ",
    make("code", {}, "--save FOLDER"), " and learn again.");
}

// A path as a shell takes it.
function shellWord(path) {
  return /^[\w./:@%+,-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

const TITLES = {running: "Learning …", done: "Learnt", failed: "Learning failed"};

function secondsSince(time) {
  return counted(Math.max(0, Math.round((Date.now() - time) / 1000)), "second");
}

function gapText([, gap, primal]) {
  return primal > 0 ? percentTick(gap / primal) : "unknown";
}

// Whether it got better, in words, by pairs that were held out: only where chance would hardly do it.
function outcome({pairs, held_out: heldOut, known, before, after, difference, verdict}) {
  const from = `From ${counted(pairs, "corrected pair")}. `;
  const [old, now] = [rateOf(before), rateOf(after)];
  if (known && (old === null || now === null)) return `${from}The model that it began with had learnt from them before, so they cannot tell whether it got better; correct others.`;
  if (old === null || now === null) return `${from}Too few pairs to say whether it got better; correct more, at best drawn at random.`;
  const [value, low, high] = difference;
  const change = old === now ? `stayed at ${percent(now)}` : `went from ${percent(old)} to ${percent(now)}`;
  const interval = `difference ${points(value)} points, 95 % interval ${points(low)} to ${points(high)}`;
  const others = known ? `The model that it began with had learnt from ${known.toLocaleString("en")} of them before. ` : "";
  return `${from}${others}In ${counted(heldOut, "pair")}${known ? " of the others" : ""}, each by weights that have not seen it, the error rate (AER) ${change} (${interval}): ${VERDICTS[verdict]}.`;
}

const VERDICTS = {
  better: "better",
  worse: "worse, and you can go back",
  chance: "that may be chance; correct more pairs to know",
};

// An error rate told as a number, or as an object or list that begins with one.
function rateOf(told) {
  const value = Array.isArray(told) ? told[0] : typeof told === "object" && told !== null ? told.aer : told;
  return typeof value === "number" ? value : null;
}

// The duality gap of each pass, in percent of the objective, on a scale of powers of ten.
function gapChart(passes) {
  const points = passes.filter(([, gap, primal]) => gap > 0 && primal > 0).map(([pass, gap, primal]) => [pass, gap / primal]);
  return lineChart(points, {title: "Duality gap, as a share of the objective, by pass", x: "pass", y: "gap", log: true, width: 320, height: 130});
}
