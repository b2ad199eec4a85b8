// A file of pairs, sent to the server; how far it is, and what came of it.

function setUpUpload(source, client, list, desk) {
  const form = byId("upload");
  if (!form || source.kind !== "server") return;
  form.hidden = false;
  const field = byId("upload-file");
  const bar = byId("upload-bar");
  const message = byId("upload-message");
  const most = data.limits?.upload_bytes ?? Infinity;

  field.addEventListener("change", () => field.files[0] && begin(field.files[0]));
  // A file dropped anywhere on the form.
  byId("add").addEventListener("dragover", (event) => event.preventDefault());
  byId("add").addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files[0]) begin(event.dataTransfer.files[0]);
  });

  async function begin(file) {
    if (file.size > most) {
      message.textContent = `${file.name} has ${megabytes(file.size)}; at most ${megabytes(most)} can be sent here`;
      return;
    }
    field.disabled = true;
    bar.hidden = false;
    message.textContent = `Sending ${file.name} …`;
    try {
      const answer = await send(file);
      message.textContent = `${counted(answer.pairs ?? 0, "pair")} read from ${file.name}.`;
      await list.change({...NO_FILTER, order: "number"});
      tabs.offer(VIEWS);
      desk.watch();
    } catch (error) {
      message.textContent = error.message;
    } finally {
      field.disabled = false;
      field.value = "";
      bar.hidden = true;
    }
  }

  // By XMLHttpRequest: only that tells how much has been sent.
  function send(file) {
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      const format = /\.tmx$/i.test(file.name) ? "tmx" : "tsv";
      request.open("POST", pathOf("/upload", {format}));
      request.setRequestHeader("Content-Type", "application/octet-stream");
      if (client.token) request.setRequestHeader("X-Liaison-Token", client.token);
      request.responseType = "json";
      request.upload.addEventListener("progress", (event) => {
        if (event.lengthComputable) bar.value = event.loaded / event.total;
      });
      request.addEventListener("error", () => reject(new Error(SILENT)));
      request.addEventListener("load", () => {
        if (request.status === 200) resolve(request.response ?? {});
        else reject(new Error(request.response?.error ?? `The server has refused this (${request.status}).`));
      });
      request.send(file);
    });
  }
}

function megabytes(bytes) {
  return `${(bytes / (1 << 20)).toFixed(bytes < 10 << 20 ? 1 : 0)} MB`;
}
