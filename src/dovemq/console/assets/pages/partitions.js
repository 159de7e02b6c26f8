import { get, queuePath } from "../api.js";
import { LiveTable, fill, h } from "../dom.js";
import { age, count } from "../format.js";

const number = (value, digits = 3) => (value === null ? "–" : Number(value).toFixed(digits));

export async function partitionsTab({ frame, every, account, name, queue }) {
  const table = new LiveTable({
    caption: "Partitions", empty: "There are no partitions.", keyOf: (each) => each.number,
    columns: [
      { label: "Partition", head: true, cell: (each) => each.number },
      { label: "State", cell: (each) => each.state },
      { label: "Visible", number: true, cell: (each) => count(each.visible) },
      { label: "Leased and delayed", number: true, cell: (each) => count(each.held) },
      { label: "Producers", number: true, cell: (each) => each.producers ?? "–" },
      { label: "Consumers", number: true, cell: (each) => each.consumers ?? "–" },
      { label: "Load L", number: true, cell: (each) => number(each.load) },
      { label: "Capacity C", number: true, cell: (each) => number(each.capacity, 1) },
      { label: "Utilisation", number: true, cell: (each) => number(each.utilisation) },
      { label: "Balance", cell: (each) => each.balance ?? "–" },
    ],
  });
  const decisions = new LiveTable({
    caption: "Decisions", empty: "The service has not changed these partitions.",
    keyOf: (each) => `${each.ts} ${each.action} ${each.partition}`,
    columns: [
      { label: "Time", head: true, cell: (each) => each.ts },
      { label: "Decision", cell: (each) => `${each.action} ${each.partition}` },
      { label: "Rule", cell: (each) => each.rule },
      { label: "Reason", cell: (each) => each.reason },
      { label: "Numbers", class: "body", cell: (each) => Object.entries(each.numbers)
        .map(([key, value]) => `${key} ${value}`).join(", ") },
    ],
  });
  const sentences = h("ul");
  const cost = queue.dequeue;
  fill(frame, h("section", { class: "card", "aria-label": "Why" }, h("h2", {}, "Why"), sentences),
    table.element, h("h2", {}, "Decisions"), decisions.element,
    h("section", { class: "card", "aria-label": "Receives" }, h("h2", {}, "Receives at this server"),
      h("dl", { class: "facts" },
        h("dt", {}, "Hits"), h("dd", {}, count(cost.hits)),
        h("dt", {}, "Misses"), h("dd", {}, count(cost.misses)),
        h("dt", {}, "Messages per hit"), h("dd", {}, number(cost.messages_per_hit, 2)),
        h("dt", {}, "Strategy"), h("dd", {}, queue.settings.dequeue_strategy))));
  let shown = null;
  await every(async () => {
    const found = await get(queuePath(account, name, "/explanation"));
    table.show(found.partitions);
    decisions.show(found.actions);
    const lines = [...found.sentences];
    if (found.inhibited_ms) lines.push(`no change for ${age(found.inhibited_ms)}`);
    if (JSON.stringify(lines) !== shown) fill(sentences, lines.map((each) => h("li", {}, each)));
    shown = JSON.stringify(lines);
  });
}
