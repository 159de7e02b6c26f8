import { get, queuePath } from "../api.js";
import { fill, h } from "../dom.js";
import { count, time } from "../format.js";

const share = (value) => (value === null || value === undefined ? "–" : `${(value * 100).toFixed(3)} %`);

export async function consistencyTab({ frame, account, name, queue }) {
  let found;
  try {
    found = await get(queuePath(account, name, "/consistency"));
  } catch (error) {
    if (error.status !== 404) throw error;
    fill(frame, h("p", { class: "empty" }, "Nobody has published figures of this queue since the " +
      "server started. The command dovemq pipeline monitor does, from the traces of the service."));
    return;
  }
  const facts = Object.entries(found).filter(([, value]) => value === null || typeof value !== "object");
  fill(frame, h("section", { class: "card", "aria-label": "Consistency" },
    h("h2", {}, "Lost, repeated and reordered messages"),
    h("dl", { class: "facts" }, facts.map(([key, value]) => [h("dt", {}, key.replaceAll("_", " ")),
      h("dd", {}, shown(key, value))])),
    h("p", { class: "hint" }, `A receive draws among the first ${queue.attributes.OrderHint} visible ` +
      "messages (OrderHint): a larger number means fewer collisions and less order.")));
}

function shown(key, value) {
  if (key.endsWith("_ms")) return time(value);
  if (key.endsWith("rate")) return share(value);
  return typeof value === "number" ? count(value) : String(value ?? "–");
}
