// Workflows of an account: their list, and the decisions of the resource manager.
import { get, may, session } from "../api.js";
import { LiveTable, field, fill, h } from "../dom.js";
import { count, time } from "../format.js";
import { decisionTable } from "./decisions.js";
import { jobPage } from "./job.js";
import { workflowPage } from "./workflow.js";

const POLL_MS = 2_000;
const DECISIONS = 50;

export const flowHash = (...parts) =>
  ["#/workflows", ...parts.map(encodeURIComponent)].join("/");

export function workflowsPage(context) {
  const [, account = session.account, type, job] = context.parts;
  if (job) return jobPage({ ...context, account, type, id: job });
  if (type) return workflowPage({ ...context, account, type });
  return listPage({ ...context, account });
}

async function listPage({ frame, every, account }) {
  const flows = new LiveTable({
    caption: "Workflows", keyOf: (flow) => flow.type,
    empty: "There are no workflows. The command dovemq workflow put FILE stores them.",
    columns: [
      { label: "Type", head: true, mark: (flow) => flow.type,
        cell: (flow) => h("a", { href: flowHash(account, flow.type) }, flow.type) },
      { label: "Version", number: true, cell: (flow) => flow.version },
      { label: "Since", cell: (flow) => time(flow.created_ms) },
      { label: "Routes", number: true, cell: (flow) => flow.routes.length },
      { label: "Topics", cell: (flow) => Object.keys(flow.topics).join(", ") },
    ],
  });
  const consumers = new LiveTable({
    caption: "Consumers of topics", keyOf: ([topic]) => topic,
    empty: "No resource manager has published a decision. The command dovemq workflow manager does.",
    columns: [
      { label: "Topic", head: true, cell: ([topic]) => topic },
      { label: "Consumers", number: true, cell: ([, each]) => count(each.after) },
      { label: "Utilisation", number: true, cell: ([, each]) => percent(each.utilisation_after) },
      { label: "Tasks per second and consumer", number: true,
        cell: ([, each]) => each.service_rate.toPrecision(3) },
      { label: "Waiting", number: true, cell: ([, each]) => count(each.waiting) },
      { label: "Running", number: true, cell: ([, each]) => count(each.running) },
    ],
  });
  const decisions = decisionTable();
  const since = h("p", { class: "hint" });
  fill(frame, h("div", { class: "head" }, h("div", {}, h("h1", {}, "Workflows"),
    h("p", { class: "hint" }, `Account ${account}`)), chooser(account)),
  flows.element,
  h("h2", { class: "next" }, "Consumers by the resource manager"), since, consumers.element,
  h("h2", { class: "next" }, "Decisions"), decisions.element);
  await every(async () => {
    const [{ workflows }, { decisions: made }] = await Promise.all([
      get("/v1/workflows", { account }),
      get("/v1/sizing/decisions", { account, limit: DECISIONS })]);
    flows.show(workflows);
    consumers.show(made.length ? Object.entries(made[0].topics) : []);
    fill(since, made.length
      ? `After the decision of ${time(made[0].published_ms)}, ${byWhom(made[0].allocator)}.` : "");
    decisions.show(made);
  }, POLL_MS);
}

const byWhom = (allocator) =>
  (allocator === "dry-run" ? "of a dry run: nobody carries it out" : `carried out by ${allocator}`);

export const percent = (value) =>
  (value === null || value === undefined ? "–" : `${Math.round(value * 100)} %`);

function chooser(account) {
  if (!may("viewer")) return null;
  const input = h("input", { value: account, autocomplete: "off", inputmode: "numeric" });
  return h("form", { class: "row", onsubmit: (event) => {
    event.preventDefault();
    location.hash = flowHash(input.value.trim() || session.account);
  } }, field("Account", input), h("button", { type: "submit" }, "Show"));
}
