import { get } from "../api.js";
import { Chart } from "../chart.js";
import { LiveTable, fill, h, setText } from "../dom.js";
import { age, count, rate } from "../format.js";
import { AlertList } from "./alerts.js";
import { queueTable } from "./rows.js";

const CLUSTER_MS = 5_000;

const TILES = [
  ["Queues", (d) => count(d.queues)],
  ["Visible", (d) => count(d.total[1])],
  ["Leased", (d) => count(d.total[2])],
  ["Delayed", (d) => count(d.total[3])],
  ["Oldest visible", (d) => age(d.total[1] ? d.total[4] : null)],
  ["Sent per second", (d) => rate(d.total[5])],
  ["Received per second", (d) => rate(d.total[6])],
  ["Deleted per second", (d) => rate(d.total[7])],
  ["Empty receives per second", (d) => rate(d.misses)],
  ["Connections", (d) => count(d.connections) || "–"],
  ["Waiting receives", (d) => count(d.polls_parked) || "–"],
];

export async function overviewPage({ frame, every }) {
  const values = TILES.map(() => h("dd"));
  const health = h("span", { class: "badge" });
  const alerts = new AlertList();
  const messages = new Chart({ title: "Messages", format: (v) => count(Math.round(v)), series: [
    { label: "visible", at: (p) => p[1] }, { label: "leased", at: (p) => p[2] },
    { label: "delayed", at: (p) => p[3] }] });
  const rates = new Chart({ title: "Messages per second", format: rate, series: [
    { label: "sent", at: (p) => p[5] }, { label: "received", at: (p) => p[6] },
    { label: "deleted", at: (p) => p[7] }] });
  const frontEnds = new LiveTable({ caption: "Front ends", empty: "No front end is known.",
    keyOf: (each) => each.front_end, columns: [
      { label: "Front end", head: true, cell: (each) => each.front_end },
      { label: "Address", cell: (each) => each.address },
      { label: "State", cell: (each) => each.state },
      { label: "Release", cell: (each) => each.release },
      { label: "Partitions", number: true, cell: (each) => count(each.partitions) },
    ] });
  const cluster = h("section", { hidden: true, "aria-label": "Cluster" },
    h("h2", {}, "Front ends"), frontEnds.element);
  const table = queueTable({ caption: "The largest queues" });
  fill(frame,
    h("div", { class: "head" }, h("h1", {}, "Overview"), health),
    h("dl", { class: "tiles" }, TILES.map(([label], i) => h("div", {}, h("dt", {}, label), values[i]))),
    h("section", { class: "card", "aria-label": "Alerts" }, h("h2", {}, "Alerts"), alerts.element),
    h("div", { class: "columns" }, h("div", { class: "card" }, messages.element),
      h("div", { class: "card" }, rates.element)),
    cluster, h("h2", {}, "The largest queues"), table.element);
  await every(async () => {
    const document = await get("/v1/overview");
    TILES.forEach(([, text], index) => setText(values[index], text(document)));
    showHealth(health, document.health);
    alerts.show(document.alerts, document.alert_count);
    const points = [...document.history, document.total];
    messages.show(points);
    rates.show(points);
    table.show(document.largest);
    cluster.hidden = !document.health?.shared;
  });
  await every(async () => {
    if (!cluster.hidden) frontEnds.show(frontEndsOf(await get("/v1/cluster")));
  }, CLUSTER_MS);
}

function frontEndsOf({ front_ends: found, partitions }) {
  return found.map((each) => ({ ...each,
    partitions: partitions.filter((place) => place.front_end === each.front_end).length }));
}

function showHealth(badge, health) {
  badge.hidden = !health;
  if (!health) return;
  const good = health.ready && !health.damage;
  badge.className = `badge ${good ? "good" : "bad"}`;
  const damage = health.damage ? `The store was damaged ${health.damage} times.` : "";
  setText(badge, health.ready ? damage || "Healthy" : health.reason);
}
