// The explorer: two sentences of one's own, sent to the server this page came from.

function setUpOwn(onPair) {
  const form = byId("own");
  if (!form) return;
  const message = byId("own-message");
  const most = Number(form.dataset.most);
  let number = 0;

  // What is wrong with the sentences as they stand; the server counts code points, too.
  function tooLong() {
    for (const side of ["source", "target"]) {
      const length = [...form.elements[side].value].length;
      if (length > most) return `${side} has ${length} characters; at most ${most} can be aligned here, so split it`;
    }
    return "";
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const fields = form.elements;
    const button = form.querySelector("button");
    message.textContent = tooLong();
    if (message.textContent) return;
    button.disabled = true;
    try {
      const data = await ask({
        source: fields.source.value, target: fields.target.value, tokenized: fields.tokenized.checked,
      });
      number += 1;
      for (const pair of data.pairs) pair.number = number;
      onPair(prepare(data)[0]);
    } catch (error) {
      message.textContent = error.message;
    } finally {
      button.disabled = false;
    }
  });
  // Told as soon as it is pasted.
  form.addEventListener("input", () => { message.textContent = tooLong(); });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
}

async function ask(question) {
  let answer;
  try {
    answer = await fetch("/align", {
      method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(question),
    });
  } catch {
    throw new Error("The server does not answer: is it still running?");
  }
  const data = await answer.json();
  if (!answer.ok) throw new Error(data.error);
  return data;
}
