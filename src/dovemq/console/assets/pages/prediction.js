// Measured beside predicted, and what would be with other loads and consumers.
import { get, queuePath } from "../api.js";
import { BandChart } from "../bandchart.js";
import { field, fill, h, setText } from "../dom.js";
import { count, digits, duration } from "../format.js";

const POLL_MS = 2_000;
const PAUSE_MS = 150;
const RATE_STEPS = 200;
const PERCENTILE = 95;

const perSecond = (value) => (value === null || value === undefined ? "–" : `${digits(value)}/s`);
const share = (value) => (value === null || value === undefined ? "–" : `${digits(value * 100)} %`);

// Each row: label, the measured figure, the predicted one, how both are written.
const ROWS = [
  ["Arrivals", (m) => m.parameters?.arrival_rate.value, null, perSecond],
  ["Throughput", (m) => m.throughput, (p) => p.throughput, perSecond],
  ["Utilisation of the consumers", null, (p) => p.utilisation, share],
  ["Wait, mean", (m) => m.wait_ms.mean, (p) => p.wait_ms.mean, duration],
  ["Wait, {p} % within", (m) => m.wait_ms.quantile, (p) => p.wait_ms.quantile, duration],
  ["Service, mean", (m) => m.service_ms.mean, null, duration],
  ["Response, mean", (m) => m.response_ms.mean, (p) => p.response_ms.mean, duration],
  ["Response, {p} % within", (m) => m.response_ms.quantile, (p) => p.response_ms.quantile, duration],
  ["Saturates at", null, (p) => p.saturation_rate, perSecond],
];

export async function predictionTab({ frame, every, alive, account, name }) {
  const path = queuePath(account, name, "/prediction");
  const summary = h("p", { class: "summary" });
  const facts = h("p", { class: "hint" });
  const table = figureTable();
  const chart = new BandChart({ title: "Response time by arrival rate",
    legend: ["s0", "band", "s1", "s2"] });
  const picture = h("div", { class: "card", hidden: true }, chart.element);
  const assumptions = h("ul");
  const method = h("p", { class: "hint" });
  let pending = 0;
  const sliders = whatIf(() => {
    clearTimeout(pending);
    pending = setTimeout(() => alive() && refresh().catch(() => {}), PAUSE_MS);
  });
  fill(frame,
    h("section", { class: "card", "aria-label": "Outcome" }, summary, facts),
    h("div", { class: "columns" }, sliders.element, picture),
    table.element,
    h("details", { class: "card" }, h("summary", {}, "What is taken for granted"), assumptions, method));
  let last = 0;

  async function refresh() {
    const asked = ++last;
    const found = await get(path, sliders.query());
    // A slower answer to an earlier question is not shown.
    if (asked !== last) return;
    setText(summary, found.summary);
    setText(facts, factsOf(found));
    sliders.show(found);
    table.show(found);
    picture.hidden = !found.predicted;
    if (found.predicted) showCurve(chart, found);
    setText(method, `Model: ${found.model.method}. Bands: ${found.model.band}. They cover the few ` +
      "samples, not the error of the model.");
    const lines = found.assumptions;
    if (assumptions.childElementCount !== lines.length || assumptions.textContent !== lines.join(""))
      fill(assumptions, lines.map((line) => h("li", {}, line)));
  }

  await every(refresh, POLL_MS);
}

function factsOf({ measured, window_seconds: seconds }) {
  const minutes = (seconds / 60).toFixed(1);
  return `Measured here in the last ${minutes} minutes: ${count(measured.sent)} sent, ` +
    `${count(measured.settled)} deleted by ${count(measured.consumers)} ` +
    `${measured.consumers === 1 ? "consumer" : "consumers"}; times of ` +
    `${count(measured.response_ms.samples)} messages.`;
}

function figureTable() {
  const body = h("tbody");
  const rows = ROWS.map(([label]) => {
    const cells = [h("th", { scope: "row" }, label), ...[0, 1, 2].map(() => h("td", { class: "number" }))];
    body.append(h("tr", {}, cells));
    return cells;
  });
  const heads = ["Figure", "Measured", "Predicted for this load", "What if"];
  const table = h("table", {}, h("caption", { class: "hidden" }, "Measured and predicted"),
    h("thead", {}, h("tr", {}, heads.map((label, index) =>
      h("th", { scope: "col", class: index ? "number" : null }, label)))), body);
  return {
    element: h("div", { class: "frame spaced", tabindex: "0", role: "region",
      "aria-label": "Measured and predicted" }, table),
    show({ measured, as_measured: before, predicted, scenario }) {
      ROWS.forEach(([label, of, predict, write], index) => {
        const [head, own, usual, changed] = rows[index];
        setText(head, label.replace("{p}", digits(scenario.percentile)));
        setText(own, of ? write(of(measured) ?? undefined) : "–");
        showBand(usual, predict && before ? predict(before) : null, write);
        if (predict) showBand(changed, predicted ? predict(predicted) : null, write);
        else setText(changed, label === "Arrivals" ? write(scenario.arrival_rate ?? undefined) : "–");
      });
    },
  };
}

function showBand(cell, figure, write) {
  if (!figure) {
    setText(cell, "–");
    return;
  }
  const value = write(figure.value);
  const narrow = figure.low === figure.high;
  const band = narrow ? "" : `${write(figure.low)} to ${write(figure.high)}`;
  if (cell.dataset.shown === value + band) return;
  cell.dataset.shown = value + band;
  fill(cell, value, band ? h("span", { class: "hint band-text" }, band) : null);
}

function showCurve(chart, { predicted, measured, scenario }) {
  const percentile = digits(scenario.percentile);
  const points = predicted.curve.map((point) => ({
    rate: point.arrival_rate, mean: point.response_ms.mean.value, ...point.response_ms.quantile }));
  const marks = measured.parameters ? [{ rate: measured.parameters.arrival_rate.value,
    time: measured.response_ms.quantile, key: "s2" }] : [];
  const saturation = predicted.saturation_rate.value;
  const time = duration(predicted.response_ms.quantile.value);
  chart.show({ points, saturation, rate: scenario.arrival_rate, marks,
    labels: { s0: `${percentile} % within, predicted`, band: "its band of 95 %",
      s1: "mean, predicted", s2: `${percentile} % within, measured` },
    said: `At ${perSecond(scenario.arrival_rate)} ${percentile} % of the responses take at most ` +
      `${time}. The queue saturates at ${perSecond(saturation)}.` });
}

// The sliders. One that was not moved follows what is measured.
function whatIf(changed) {
  const sliders = {
    arrival_rate: slider("Arrival rate", { min: 0, max: RATE_STEPS, step: 1 },
      (value) => `${digits(value)} messages per second`),
    consumers: slider("Consumers", { min: 1, max: 20, step: 1 }, (value) => count(value)),
    partitions: slider("Partitions that divide the consumers", { min: 1, max: 16, step: 1 },
      (value) => (value === 1 ? "1: every consumer serves all" : count(value))),
    percentile: slider("Percentile", { min: 50, max: 99, step: 1 }, (value) => `${digits(value)} %`),
  };
  const target = h("input", { type: "number", min: "1", max: "604800000", step: "1" });
  let unit = null;
  const rate = sliders.arrival_rate;
  rate.read = () => Number((Math.max(rate.position(), 0.5) * unit).toPrecision(3));
  rate.place = (value) => value / unit;
  const all = Object.entries(sliders);
  for (const [, each] of all) each.onMove(changed);
  target.addEventListener("input", () => target.checkValidity() && changed());
  const reset = h("button", { type: "button", onclick: () => {
    all.forEach(([, each]) => each.release());
    target.value = "";
    changed();
  } }, "As measured");
  const element = h("form", { class: "card", "aria-label": "What if",
    onsubmit: (event) => event.preventDefault() },
  h("h2", {}, "What if"), all.map(([, each]) => each.element),
  field("Response time to keep, in milliseconds", target,
    "Says how many consumers keep that percentile within it."),
  h("div", { class: "buttons" }, reset));
  return {
    element,
    query: () => ({ ...Object.fromEntries(all.map(([key, each]) => [key, each.asked()])),
      target_ms: target.checkValidity() ? target.value : "" }),
    show({ measured, predicted, scenario }) {
      if (predicted && unit === null)
        unit = rateMost(predicted, scenario) / RATE_STEPS;
      const known = unit !== null && scenario.arrival_rate !== null;
      rate.follow(known ? scenario.arrival_rate : null);
      sliders.consumers.widen(Math.max(20, 4 * measured.consumers));
      sliders.consumers.follow(scenario.consumers || 1);
      sliders.partitions.follow(scenario.partitions);
      sliders.percentile.follow(scenario.percentile ?? PERCENTILE);
    },
  };
}

// The right end of the slider: twice what the consumers can handle.
const rateMost = (predicted, scenario) =>
  Number((2 * Math.max(predicted.saturation_rate.value, scenario.arrival_rate)).toPrecision(2));

function slider(label, { min, max, step }, write) {
  const input = h("input", { type: "range", min, max, step, disabled: true });
  const shown = h("output", {});
  const note = h("span", { class: "hint" });
  const wrapped = field(label, input);
  shown.setAttribute("for", input.id);
  wrapped.append(h("span", { class: "reading" }, shown, " ", note));
  let moved = false;
  const own = {
    element: wrapped,
    position: () => Number(input.value),
    read: () => Number(input.value),
    place: (value) => value,
    asked: () => (moved ? own.read() : ""),
    say(value) {
      const text = write(value);
      setText(shown, text);
      setText(note, moved ? "" : "as measured");
      input.setAttribute("aria-valuetext", moved ? text : `${text}, as measured`);
    },
    onMove: (changed) => input.addEventListener("input", () => {
      moved = true;
      own.say(own.read());
      changed();
    }),
    release() {
      moved = false;
    },
    widen(most) {
      if (Number(input.max) < most) input.max = String(most);
    },
    // Without a figure it cannot be moved.
    follow(value) {
      input.disabled = value === null;
      if (value === null) setText(shown, "unknown");
      else if (!moved) {
        input.value = String(own.place(value));
        own.say(value);
      }
    },
  };
  return own;
}
