// Says whether an account may do something on a queue, and what each statement of its policy says.
import { get } from "../api.js";
import { attempt } from "../dialogs.js";
import { field, fill, h } from "../dom.js";

export function explainCard(path) {
  const text = (properties) => h("input", { autocomplete: "off", ...properties });
  const action = text({ required: true, value: "SendMessage" });
  const queue = text({ required: true, placeholder: "ACCOUNT/NAME" });
  const address = text({ placeholder: "any" });
  const agent = text({ placeholder: "any" });
  const secure = h("input", { type: "checkbox" });
  const answer = h("div", { role: "status", class: "next" });
  return h("form", { class: "card next", onsubmit: async (event) => {
    event.preventDefault();
    const found = await attempt(() => get(path, { action: action.value, queue: queue.value,
      address: address.value, user_agent: agent.value, secure: secure.checked ? "true" : "" }));
    if (found) fill(answer, verdict(found));
  } }, h("h2", {}, "What the policies allow"),
  h("div", { class: "row" }, field("Operation", action), field("Queue", queue),
    field("Address of the client", address), field("User agent", agent), field("By TLS", secure),
    h("button", { type: "submit" }, "Explain")), answer);
}

function verdict({ allowed, reason, statement, steps, queue, action }) {
  return [h("p", {}, h("span", { class: allowed ? "badge good" : "badge bad" },
    allowed ? "allowed" : "denied"), ` ${action} on ${queue ?? "a queue that does not exist"}: ${reason}.`),
  statement ? h("p", {}, `Statement: ${statement}`) : null,
  steps.length ? h("ol", {}, steps.map((step) => h("li", {}, step))) : null];
}
