// Messages as JSON lines: to a file of this computer, and from one.
import { ask, get, queuePath } from "../api.js";
import { attempt } from "../dialogs.js";
import { field, fill, h, setText } from "../dom.js";
import { bytesOf, count, size } from "../format.js";

const EXPORTED_MAX = 100_000;
const EXPORTED_BYTES_MAX = 256_000_000;
const IMPORTED_BYTES_MAX = 256_000_000;
const PAGE = 500;
const BATCH = 50;
const BATCH_BYTES_MAX = 500_000;

export function transferTab({ frame, account, name, queue, alive }) {
  const path = queuePath(account, name, "/messages");
  const saved = h("p", { role: "status", class: "hint" });
  const sent = h("p", { role: "status", class: "hint" });
  const file = h("input", { type: "file", accept: ".jsonl,.ndjson,.json,text/plain" });
  const download = h("button", { type: "button", class: "primary", onclick: () => busy(download, save) },
    "Export");
  const upload = h("button", { type: "button", class: "primary", onclick: () => busy(upload, load) },
    "Import");
  fill(frame, h("div", { class: "columns" },
    h("section", { class: "card", "aria-label": "Export" }, h("h2", {}, "Export"),
      h("p", {}, `Writes up to ${count(EXPORTED_MAX)} messages to a file, one JSON document per ` +
        "line. Nothing is received or deleted."), download, saved),
    h("section", { class: "card", "aria-label": "Import" }, h("h2", {}, "Import"),
      h("p", {}, "Sends each line of such a file as a new message: body, attributes, group and " +
        "deduplication id. Everything is read before the first is sent."),
      field("File", file), upload, sent)));

  async function save() {
    const lines = [];
    let bytes = 0;
    let after = "";
    while (after !== null && lines.length < EXPORTED_MAX && bytes < EXPORTED_BYTES_MAX && alive()) {
      const page = await get(path, { limit: PAGE, after });
      for (const message of page.messages) {
        const line = `${JSON.stringify(message)}\n`;
        bytes += line.length;
        lines.push(line);
      }
      after = page.next;
      setText(saved, `${count(lines.length)} messages`);
    }
    const link = h("a", { download: `${name}.jsonl`,
      href: URL.createObjectURL(new Blob(lines, { type: "application/x-ndjson" })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    setText(saved, `${count(lines.length)} messages, ${size(bytes)}` +
      (after === null ? "" : "; the queue has more"));
  }

  async function load() {
    const chosen = file.files[0];
    if (!chosen) throw new Error("Choose a file first.");
    if (chosen.size > IMPORTED_BYTES_MAX)
      throw new Error(`The file is larger than ${size(IMPORTED_BYTES_MAX)}; use dovemq copy.`);
    const messages = (await chosen.text()).split("\n").flatMap(read);
    let done = 0;
    for (const batch of batches(messages)) {
      try {
        await ask("POST", path, { messages: batch });
      } catch (error) {
        throw new Error(`${count(done)} messages are sent; the next ones are not: ${error.message}`);
      }
      done += batch.length;
      setText(sent, `${count(done)} of ${count(messages.length)} messages are sent`);
    }
    setText(sent, `${count(done)} messages are sent`);
  }

  function read(line, index) {
    if (!line.trim()) return [];
    let given;
    try {
      given = JSON.parse(line);
    } catch {
      throw new Error(`Line ${index + 1} is not JSON.`);
    }
    if (typeof given?.body !== "string") throw new Error(`Line ${index + 1} has no body.`);
    const message = { body: given.body, attributes: given.attributes ?? {} };
    if (given.group) message.group = given.group;
    if (queue.fifo && given.deduplication_id) message.deduplication_id = given.deduplication_id;
    return [message];
  }
}

function* batches(messages) {
  let batch = [];
  let bytes = 0;
  for (const message of messages) {
    const more = bytesOf(JSON.stringify(message));
    if (batch.length && (batch.length === BATCH || bytes + more > BATCH_BYTES_MAX)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(message);
    bytes += more;
  }
  if (batch.length) yield batch;
}

async function busy(button, work) {
  button.disabled = true;
  await attempt(work);
  button.disabled = false;
}
