import { ask, queuePath } from "../api.js";
import { notice } from "../dialogs.js";
import { field, fill, h } from "../dom.js";

export function sendTab({ frame, account, name, queue }) {
  const fifo = queue.fifo;
  const body = h("textarea", { name: "body", required: true, spellcheck: "false" });
  const group = h("input", { name: "group", required: fifo, maxlength: "128" });
  const deduplication = h("input", { name: "deduplication", maxlength: "128" });
  const delay = h("input", { name: "delay", type: "number", min: "0", step: "0.001" });
  const attributes = h("div");
  const problem = h("p", { class: "problem", role: "alert" });
  const add = h("button", { type: "button", onclick: () => attributes.append(attributeRow()) },
    "Add an attribute");
  const send = h("button", { type: "submit", class: "primary" }, "Send");
  const form = h("form", { class: "card", onsubmit: async (event) => {
    event.preventDefault();
    send.disabled = true;
    fill(problem);
    const message = { body: body.value, attributes: readAttributes(attributes) };
    if (group.value) message.group = group.value;
    if (fifo && deduplication.value) message.deduplication_id = deduplication.value;
    if (delay.value) message.delay_ms = Math.round(Number(delay.value) * 1_000);
    try {
      const { sent } = await ask("POST", queuePath(account, name, "/messages"),
        { messages: [message] });
      notice(sent[0].duplicate ? "A message with this deduplication id was sent before."
        : `Message ${sent[0].message_id} is sent.`);
    } catch (error) {
      fill(problem, error.message);
    }
    send.disabled = false;
  } },
  field("Body", body),
  h("div", { class: "row" },
    field(fifo ? "Group" : "Group (optional)", group),
    fifo ? field("Deduplication id", deduplication, "Empty: made from the body, if the queue does so.")
      : null,
    field("Delay in seconds", delay, "Empty: the delay of the queue.")),
  h("h2", {}, "Attributes"), attributes, problem,
  h("div", { class: "buttons" }, send, add));
  fill(frame, form);
}

function attributeRow() {
  const row = h("div", { class: "row", "data-attribute": true },
    field("Name", h("input", { "data-part": "name", required: true })),
    field("Type", h("select", { "data-part": "type" }, ["String", "Number", "Binary"].map((type) =>
      h("option", { value: type }, type === "Binary" ? "Binary (base64)" : type)))),
    field("Value", h("input", { "data-part": "value", required: true })),
    h("button", { type: "button", onclick: () => row.remove() }, "Remove"));
  return row;
}

function readAttributes(frame) {
  const found = {};
  for (const row of frame.querySelectorAll("[data-attribute]")) {
    const part = (name) => row.querySelector(`[data-part=${name}]`).value;
    const type = part("type");
    found[part("name")] = type === "Binary" ? { type, base64: part("value") }
      : { type, value: part("value") };
  }
  return found;
}
