import { get, queuePath } from "../api.js";
import { LiveTable, fill, h } from "../dom.js";
import { age, count, rate } from "../format.js";

const number = (value, digits = 3) => (value === null || value === undefined ? "–" : Number(value).toFixed(digits));

export async function partitionsTab({ frame, every, account, name, queue }) {
  const table = new LiveTable({
    caption: "Partitions", empty: "There are no partitions.", keyOf: (each) => each.number,
    columns: [
      { label: "Partition", head: true, cell: (each) => each.number },
      { label: "State", cell: (each) => each.state },
      { label: "Visible", number: true, cell: (each) => count(each.visible) },
      { label: "Leased and delayed", number: true, cell: (each) => count(each.held) },
      { label: "Producers", number: true, cell: (each) => each.producers ?? "–" },
      { label: "Share x", number: true, cell: (each) => number(each.producer_share, 2) },
      { label: "Consumers", number: true, cell: (each) => each.consumers ?? "–" },
      { label: "Share y", number: true, cell: (each) => number(each.consumer_share, 2) },
      { label: "Load L", number: true, cell: (each) => number(each.load) },
      { label: "Capacity C", number: true, cell: (each) => number(each.capacity, 1) },
      { label: "Utilisation", number: true, cell: (each) => number(each.utilisation) },
      { label: "Balance", cell: (each) => each.balance ?? "–" },
    ],
  });
  const decisions = new LiveTable({
    caption: "Decisions", empty: "The service has not changed these partitions.",
    keyOf: (each) => `${each.ts} ${decisionOf(each)}`,
    columns: [
      { label: "Time", head: true, cell: (each) => each.ts },
      { label: "Decision", cell: decisionOf },
      { label: "Rule", cell: (each) => each.rule },
      { label: "Reason", cell: (each) => each.reason },
      { label: "Numbers", class: "body", cell: (each) => Object.entries(each.numbers)
        .map(([key, value]) => `${key} ${value}`).join(", ") },
    ],
  });
  const flows = new LiveTable({
    caption: "Exchanges between partitions", empty: "No message was exchanged between partitions.",
    keyOf: (each) => `${each.source} ${each.target}`,
    columns: [
      { label: "From partition", head: true, cell: (each) => each.source },
      { label: "To partition", cell: (each) => each.target },
      { label: "Messages since the start", number: true, cell: (each) => count(each.messages) },
      { label: "Per second", number: true, cell: (each) => rate(each.per_second) },
    ],
  });
  const map = h("div");
  const sentences = h("ul");
  const cost = queue.dequeue;
  fill(frame, h("section", { class: "card", "aria-label": "Why" }, h("h2", {}, "Why"), sentences),
    h("section", { class: "card", "aria-label": "Map" }, h("h2", {}, "Map"), map,
      h("p", { class: "hint" }, "L is the clients of a partition over its capacity. x and y are its " +
        "shares of all producers and of all consumers. With x above y it floods, with y above x it " +
        "drains. They are known for queues that size themselves.")),
    table.element, h("h2", {}, "Exchanges between partitions"), flows.element,
    h("h2", {}, "Decisions"), decisions.element,
    h("section", { class: "card", "aria-label": "Receives" }, h("h2", {}, "Receives at this server"),
      h("dl", { class: "facts" },
        h("dt", {}, "Hits"), h("dd", {}, count(cost.hits)),
        h("dt", {}, "Misses"), h("dd", {}, count(cost.misses)),
        h("dt", {}, "Messages per hit"), h("dd", {}, number(cost.messages_per_hit, 2)),
        h("dt", {}, "Strategy"), h("dd", {}, queue.settings.dequeue_strategy))));
  let shown = null;
  let drawn = null;
  const perSecond = rising();
  await every(async () => {
    const found = await get(queuePath(account, name, "/explanation"));
    table.show(found.partitions);
    flows.show(perSecond(found.flows));
    decisions.show(found.actions);
    const mark = JSON.stringify([found.partitions, found.owners]);
    if (mark !== drawn) fill(map, mapOf(found));
    drawn = mark;
    const lines = [...found.sentences];
    if (found.inhibited_ms) lines.push(`no change for ${age(found.inhibited_ms)}`);
    if (JSON.stringify(lines) !== shown) fill(sentences, lines.map((each) => h("li", {}, each)));
    shown = JSON.stringify(lines);
  });
}

// A decision is about a partition, or about the order hint of the queue.
function decisionOf({ action, partition, before, order_hint: hint }) {
  return partition === undefined ? `${action} from ${before} to ${hint}` : `${action} ${partition}`;
}

// Partitions as tiles, below the front end that owns them.
function mapOf({ partitions, owners }) {
  const places = Map.groupBy(partitions, (each) => owners[each.number] ?? "This server");
  return [...places].map(([owner, own]) => h("section", { "aria-label": `Front end ${owner}` },
    h("h3", {}, owner), h("ul", { class: "map" }, own.map(tileOf))));
}

function tileOf(each) {
  const busy = each.balance === "flooding" ? "bad" : each.balance === "draining" ? "warn" : "good";
  return h("li", {},
    h("strong", {}, `Partition ${each.number}`), " ",
    h("span", { class: `badge ${each.balance ? busy : ""}` }, each.balance ?? each.state),
    h("div", {}, `L ${number(each.load, 2)}`),
    shareOf("x", each.producer_share), shareOf("y", each.consumer_share),
    h("div", { class: "hint" }, `${count(each.visible)} visible`));
}

const shareOf = (label, value) => h("div", { class: "share" }, `${label} ${number(value, 2)} `,
  value === null || value === undefined ? null
    : h("meter", { min: "0", max: "1", value, "aria-label": `Share ${label}` }));

// Adds how fast each flow has risen since it was last asked for.
function rising() {
  let before = new Map();
  let last = 0;
  return (flows) => {
    const now = performance.now();
    const seconds = (now - last) / 1_000;
    const found = flows.map((each) => {
      const key = `${each.source} ${each.target}`;
      const known = before.get(key) ?? (last ? 0 : each.messages);
      return { ...each, per_second: Math.max(each.messages - known, 0) / seconds };
    });
    before = new Map(flows.map((each) => [`${each.source} ${each.target}`, each.messages]));
    last = now;
    return found;
  };
}
