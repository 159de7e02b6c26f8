// A queue: its name, its state, what can be done with it as a whole, and its tabs.
import { ask, get, may, queuePath } from "../api.js";
import { Chart } from "../chart.js";
import { attempt, confirmByName } from "../dialogs.js";
import { fill, h, setText } from "../dom.js";
import { age, count, rate, size } from "../format.js";
import { attributesTab } from "./attributes.js";
import { clientsTab } from "./clients.js";
import { consistencyTab } from "./consistency.js";
import { messagesTab } from "./messages.js";
import { movesTab } from "./moves.js";
import { partitionsTab } from "./partitions.js";
import { predictionTab } from "./prediction.js";
import { queueHash } from "./rows.js";
import { sendTab } from "./send.js";
import { transferTab } from "./transfer.js";

const TABS = [
  ["", "Overview", overviewTab],
  ["messages", "Messages", messagesTab, "operator"],
  ["send", "Send", sendTab, "operator"],
  ["moves", "Redrive", movesTab],
  ["attributes", "Attributes", attributesTab],
  ["clients", "Clients", clientsTab],
  ["partitions", "Partitions", partitionsTab],
  ["prediction", "Prediction", predictionTab],
  ["consistency", "Consistency", consistencyTab],
  ["transfer", "Export and import", transferTab, "operator"],
];

export async function queuePage(context) {
  const { frame, parts } = context;
  const [, account, name, tab = ""] = parts;
  const queue = await get(queuePath(account, name));
  const tabs = TABS.filter(([, , , role]) => !role || may(role, account));
  const chosen = tabs.find(([key]) => key === tab) ?? tabs[0];
  const links = tabs.map(([key, label]) => h("li", {},
    h("a", { href: queueHash(account, name, key), "aria-current": key === chosen[0] ? "page" : null },
      label)));
  const inner = h("div");
  fill(frame,
    h("div", { class: "head" },
      h("div", {}, h("h1", {}, name), h("p", { class: "hint" }, `Account ${account} · `,
        queue.fifo ? "FIFO queue" : "standard queue")),
      actions(queue)),
    h("nav", { class: "tabs", "aria-label": "Parts of the queue" }, h("ul", {}, links)),
    inner);
  await chosen[2]({ ...context, frame: inner, account, name, queue });
}

function actions(queue) {
  const { account, name } = queue;
  if (!may("admin", account)) return null;
  const path = queuePath(account, name);
  const paused = queue.settings.delivery_paused;
  const pause = h("button", { type: "button", onclick: () => attempt(async () => {
    const DeliveryPaused = paused ? "false" : "true";
    await ask("PATCH", path, { attributes: { DeliveryPaused } });
    dispatchEvent(new Event("hashchange"));
  }, paused ? "Delivery goes on." : "Delivery is paused.") }, paused ? "Resume" : "Pause");
  const purge = h("button", { type: "button", class: "danger", onclick: () => confirmByName({
    title: "Purge the queue", name, action: "Delete all messages",
    text: "All messages are deleted, also those that consumers hold. This cannot be undone.",
    act: () => attempt(() => ask("DELETE", `${path}/messages`), "The queue is purged."),
  }) }, "Purge");
  const remove = h("button", { type: "button", class: "danger", onclick: () => confirmByName({
    title: "Delete the queue", name, action: "Delete the queue",
    text: "The queue and all its messages are deleted. This cannot be undone.",
    act: async () => {
      await ask("DELETE", path);
      location.hash = "#/queues";
    },
  }) }, "Delete");
  return h("div", { class: "buttons" }, paused ? h("span", { class: "badge warn" }, "paused") : null,
    pause, purge, remove);
}

const TILES = [
  ["Visible", (row) => count(row.visible)],
  ["Leased", (row) => count(row.leased)],
  ["Delayed", (row) => count(row.delayed)],
  ["Oldest visible", (row) => age(row.oldest_age_ms)],
  ["Size", (row) => size(row.bytes)],
  ["Consumers", (row) => count(row.consumers)],
  ["Empty receives per second", (row) => rate(row.rates.misses)],
];

async function overviewTab({ frame, every, account, name, queue }) {
  const values = TILES.map(() => h("dd"));
  const messages = new Chart({ title: "Messages", format: (v) => count(Math.round(v)), series: [
    { label: "visible", at: (p) => p[1] }, { label: "leased", at: (p) => p[2] },
    { label: "delayed", at: (p) => p[3] }] });
  const rates = new Chart({ title: "Messages per second", format: rate, series: [
    { label: "sent", at: (p) => p[5] }, { label: "received", at: (p) => p[6] },
    { label: "deleted", at: (p) => p[7] }] });
  const ages = new Chart({ title: "Age of the oldest visible message", format: age,
    series: [{ label: "age", at: (p) => p[4] }] });
  const alerts = h("ul", { class: "alerts" });
  fill(frame, alerts,
    h("dl", { class: "tiles" }, TILES.map(([label], i) => h("div", {}, h("dt", {}, label), values[i]))),
    h("div", { class: "columns" }, [messages, rates, ages].map((chart) =>
      h("div", { class: "card" }, chart.element)),
    h("div", { class: "card" }, h("h2", {}, "Dead letters"), deadLetters(queue))));
  await every(async () => {
    const { at_ms: at, now, points } = await get(queuePath(account, name, "/history"));
    if (!now) return;
    const { sent, received, settled } = now.rates;
    points.push([at, now.visible, now.leased, now.delayed, now.oldest_age_ms ?? 0, sent, received,
      settled]);
    [messages, rates, ages].forEach((chart) => chart.show(points));
    TILES.forEach(([, text], index) => setText(values[index], text(now)));
    fill(alerts, now.alerts.map((alert) =>
      h("li", {}, h("span", { class: "badge bad" }, alert.kind), ` ${alert.text}`)));
  });
}

function deadLetters(queue) {
  const redrive = queue.settings.redrive;
  const link = (key) => {
    const [account, name] = key.split("/");
    return h("a", { href: queueHash(account, name) }, name);
  };
  return h("div", {},
    redrive
      ? h("p", {}, `After ${redrive.receives_max} receives a message goes to `, link(redrive.target), ".")
      : h("p", { class: "hint" }, "No dead-letter queue is set."),
    queue.sources.length
      ? h("p", {}, "Dead letters come from: ",
        queue.sources.map((key, index) => [index ? ", " : "", link(key)])) : null);
}
