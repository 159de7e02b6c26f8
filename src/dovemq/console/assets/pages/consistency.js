// The consistency of a queue over time, with K and its effect, as a monitor has published it.
import { get, may, queuePath } from "../api.js";
import { Chart } from "../chart.js";
import { LiveTable, fill, h } from "../dom.js";
import { count, size, time } from "../format.js";

const POLL_MS = 5_000;
const share = (value) => (value === null || value === undefined ? "–" : `${(value * 100).toFixed(3)} %`);
const perCent = (value) => `${places(value)} %`;
const places = (value) => value.toFixed(value < 10 ? 2 : 0);

export async function consistencyTab({ frame, every, account, name, queue }) {
  const path = queuePath(account, name, "/consistency");
  const empty = h("p", { class: "empty", hidden: true }, "Nobody has published figures of this " +
    "queue in the last 30 days. The command dovemq pipeline monitor does, from the traces of the " +
    "service.");
  const shown = h("div", { hidden: true });
  const traced = h("p", { class: "hint" });
  const facts = h("dl", { class: "facts" });
  const charts = [rateChart("Duplication", "duplication_rate", perCent, 100),
    rateChart("Out of order", "out_of_order_rate", perCent, 100),
    rateChart("Average displacement in places", "average_displacement", places, 1),
    new Chart({ title: "K, the messages among which a receive draws", format: (v) => count(Math.round(v)),
      series: [{ label: "K", at: (p) => p[1].k }] })];
  const effect = effectTable();
  fill(shown, h("div", { class: "columns" }, charts.map((chart) =>
    h("div", { class: "card" }, chart.element))),
  h("h2", { class: "next" }, "Effect of K"), effect.element,
  h("p", { class: "hint" }, `OrderHint is ${queue.attributes.OrderHint}. A larger K means fewer ` +
    "collisions of receives and less order."),
  h("section", { class: "card next", "aria-label": "Consistency" },
    h("h2", {}, "Lost, repeated and reordered messages"), facts));
  fill(frame, empty, shown, traced);
  await every(async () => {
    const { points, by_k: byK } = await get(`${path}/history`);
    empty.hidden = points.length > 0;
    shown.hidden = points.length === 0;
    if (points.length) {
      charts.forEach((chart) => chart.show(points.map((point) => [point.at_ms, point])));
      effect.show(byK);
      fill(facts, factsOf(await get(path)));
    }
    if (may("viewer")) fill(traced, traceText(await get("/v1/traces")));
  }, POLL_MS);
}

// Without new messages since the point before there is no recent rate, and the total is shown.
function rateChart(title, rate, format, factor) {
  return new Chart({ title, format, series: [
    { label: "since the point before", at: ([, p]) => factor * (p.recent ?? p.total)[rate] },
    { label: "in all", at: ([, p]) => factor * p.total[rate] }] });
}

function effectTable() {
  return new LiveTable({
    caption: "Effect of K", empty: "No messages were counted.", keyOf: (each) => each.k,
    columns: [
      { label: "K", head: true, cell: (each) => each.k },
      { label: "Messages", number: true, cell: (each) => count(each.messages) },
      { label: "Repeated", number: true, cell: (each) => share(each.duplication_rate) },
      { label: "Out of order", number: true, cell: (each) => share(each.out_of_order_rate) },
      { label: "Average displacement", number: true,
        cell: (each) => places(each.average_displacement) },
    ],
  });
}

function factsOf(found) {
  return Object.entries(found).filter(([, value]) => value === null || typeof value !== "object")
    .map(([key, value]) => [h("dt", {}, key.replaceAll("_", " ")), h("dd", {}, text(key, value))]);
}

function text(key, value) {
  if (key.endsWith("_ms")) return time(value);
  if (key.endsWith("rate")) return share(value);
  return typeof value === "number" ? count(value) : String(value ?? "–");
}

function traceText(trace) {
  if (!trace.on) return "This server writes no trace, which a monitor needs: start it with --trace.";
  const files = trace.files === null ? "" : `, ${count(trace.files)} files of ${size(trace.bytes)}`;
  const lost = trace.rows_dropped ? `, ${count(trace.rows_dropped)} rows lost` : "";
  const failure = trace.failing ? `; it fails: ${trace.error}` : "";
  return `This server writes a trace to ${trace.location}: ${count(trace.rows_written)} rows` +
    `${files}${lost}${failure}.`;
}
