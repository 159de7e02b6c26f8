// Decisions of the resource manager: what has changed, why, and what the model expects of it.
import { formDialog } from "../dialogs.js";
import { LiveTable, h } from "../dom.js";
import { count, time, took } from "../format.js";

export function decisionTable() {
  return new LiveTable({
    caption: "Decisions", empty: "No decision is published.",
    keyOf: (each) => `${each.first_ms} ${each.published_by}`,
    columns: [
      { label: "Time", head: true, cell: (each) => time(each.published_ms) },
      { label: "Consumers", cell: change },
      { label: "Cause", cell: (each) => (each.rounds > 1
        ? `${each.cause}, ${count(each.rounds)} rounds` : each.cause) },
      { label: "Reason", class: "reason", cell: (each) => each.reason },
      { label: "Measured", number: true, cell: (each) => took(each.measured_ms) },
      { label: "Predicted before", number: true, cell: (each) => predicted(each, "before") },
      { label: "Predicted after", number: true, cell: (each) => predicted(each, "after") },
      { label: "Predicted gain", number: true, cell: gain },
      { label: "Figures", mark: (each) => each.published_ms, cell: (each) =>
        h("button", { type: "button", "aria-label": `Figures of ${time(each.published_ms)}`,
          onclick: () => showFigures(each) }, "Show") },
    ],
  });
}

function change({ changes, topics }) {
  if (!changes) return "no change";
  return Object.entries(topics).filter(([, each]) => each.before !== each.after)
    .map(([name, each]) => `${name} ${each.before} → ${each.after}`).join(", ");
}

// Without arrivals nothing is predicted; with them a missing time is that of an unstable topic.
function predicted(decision, when) {
  const value = decision[`predicted_${when}_ms`];
  if (value !== null) return took(value);
  return arrivals(decision) ? "unstable" : "–";
}

const arrivals = ({ types }) => Object.values(types).some((each) => each.arrival_rate > 0);

export function gain(decision) {
  const { predicted_before_ms: before, predicted_after_ms: after, changes } = decision;
  if (!changes || after === null) return "–";
  if (before === null) return arrivals(decision) ? "stable again" : "–";
  const share = Math.round((1 - after / before) * 100);
  return share < 0 ? `${-share} % slower` : `${share} %`;
}

const figure = (value) => (value === null || value === undefined ? "–" : value.toPrecision(3));

function showFigures(decision) {
  const { topics, types } = decision;
  return formDialog({ title: `Decision of ${time(decision.published_ms)}`, action: "Close",
    text: `${decision.reason}. ${decision.note}`,
    fields: [
      listing("Topics", ["Topic", "Before", "After", "Load before", "Load after", "Rate", "scv"],
        Object.entries(topics).map(([name, each]) => [name, each.before, each.after,
          figure(each.utilisation_before), figure(each.utilisation_after),
          figure(each.service_rate), figure(each.service_scv)])),
      listing("Types of jobs", ["Type", "Rate", "scv", "Measured", "Before", "After"],
        Object.entries(types).map(([name, each]) => [name, figure(each.arrival_rate),
          figure(each.arrival_scv), took(each.measured_ms), took(each.predicted_before_ms),
          took(each.predicted_after_ms)]))],
    act: async () => true });
}

function listing(caption, labels, rows) {
  return h("div", { class: "frame listing", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {}, h("caption", {}, caption),
      h("thead", {}, h("tr", {}, labels.map((label) => h("th", { scope: "col" }, label)))),
      h("tbody", {}, rows.map(([name, ...cells]) => h("tr", {}, h("th", { scope: "row" }, name),
        cells.map((cell) => h("td", { class: "number" }, cell)))))));
}
