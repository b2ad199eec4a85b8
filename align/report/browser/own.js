// The explorer: two sentences of one's own, sent to the server this page came from.

function setUpOwn(source, client, onPair) {
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

  // The id under which the pair is shown.
  function taken(answer) {
    if (source.kind === "server") return answer.id;
    number += 1;
    return source.add({...answer.pairs[0], number}, answer).id;
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const fields = form.elements;
    const button = form.querySelector("button");
    message.textContent = tooLong();
    if (message.textContent) return;
    button.disabled = true;
    try {
      const answer = await client.post("/align", {
        source: fields.source.value, target: fields.target.value, tokenized: fields.tokenized.checked,
      });
      await onPair(taken(answer));
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
