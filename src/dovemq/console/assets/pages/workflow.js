// One workflow: its graph with live counts, its topics, its jobs, and a new job.
import { ask, get, may } from "../api.js";
import { attempt } from "../dialogs.js";
import { LiveTable, field, fill, h, setText } from "../dom.js";
import { age, count, time, took } from "../format.js";
import { TaskGraph } from "../graph.js";
import { queueHash } from "./rows.js";
import { flowHash, percent } from "./workflows.js";

const POLL_MS = 2_000;
const JOBS = 25;
const STATES = ["running", "ended", "failed", "cancelled"];

export async function workflowPage({ frame, every, account, type }) {
  const flow = await get(`/v1/workflows/${encodeURIComponent(type)}`, { account });
  const alone = flow.routes.length === 1;
  const graphs = flow.routes.map((route, index) => new TaskGraph(
    alone ? `Tasks of ${type}` : `Route ${index + 1} of ${type}, ${percent(route.share)} of the jobs`,
    route.tasks));
  const topics = topicTable(account);
  const said = h("p", { class: "hint", role: "status" });
  const jobs = jobList(account, type);
  fill(frame, h("div", { class: "head" }, h("div", {}, h("h1", {}, type),
    h("p", { class: "hint" }, h("a", { href: flowHash(account) }, "Workflows"),
      ` of account ${account} · version ${flow.version}, since ${time(flow.created_ms)}`))),
  graphs.map((graph) => h("section", { class: "card", "aria-label": graph.title },
    h("h2", {}, graph.title),
    h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": `Graph: ${graph.title}` },
      graph.element))),
  said, topics.element,
  h("div", { class: "columns next" },
    may("operator", account) ? submitForm(account, type, flow, jobs.refresh) : null),
  h("h2", {}, "Jobs"), jobs.element);
  await every(async () => {
    const query = { account };
    const now = await get(`/v1/workflows/${encodeURIComponent(type)}/activity`, query);
    graphs.forEach((graph) => graph.show(now));
    topics.show(Object.entries(now.topics));
    setText(said, bottleneckText(now));
    await jobs.refresh();
  }, POLL_MS);
}

function bottleneckText({ bottleneck, decided_ms: decided }) {
  const from = decided
    ? `Utilisation is that of the decision of ${time(decided)}.`
    : "No resource manager has published a utilisation lately.";
  if (!bottleneck) return `No task waits. ${from}`;
  const why = bottleneck.basis === "visible" ? "most tasks wait there" : "its utilisation is the highest";
  return `The bottleneck is ${bottleneck.topic}: ${why}. ${from}`;
}

function topicTable(account) {
  const link = (queue, text) => h("a", { href: queueHash(account, queue) }, text);
  return new LiveTable({
    caption: "Topics", empty: "There are no topics.", keyOf: ([name]) => name,
    columns: [
      { label: "Topic", head: true, mark: ([name]) => name,
        cell: ([name, each]) => link(each.queue, name) },
      { label: "Visible", number: true, cell: ([, each]) => count(each.visible) },
      { label: "Leased", number: true, cell: ([, each]) => count(each.leased) },
      { label: "Delayed", number: true, cell: ([, each]) => count(each.delayed) },
      { label: "Oldest", number: true, cell: ([, each]) => age(each.oldest_age_ms) },
      { label: "Dead letters", number: true, cell: ([, each]) => count(each.dead) },
      { label: "Connections", number: true, cell: ([, each]) => count(each.consumers) },
      { label: "Workers", number: true, cell: ([, each]) => each.workers ?? "–" },
      { label: "Utilisation", number: true, cell: ([, each]) => percent(each.utilisation) },
    ],
  });
}

function submitForm(account, type, flow, done) {
  const input = h("textarea", { name: "input", spellcheck: "false", placeholder: "{}" });
  const key = h("input", { name: "key", autocomplete: "off", maxlength: "256" });
  const problem = h("p", { class: "problem", role: "alert" });
  return h("form", { class: "card", onsubmit: async (event) => {
    event.preventDefault();
    fill(problem);
    let content = null;
    try {
      content = input.value.trim() ? JSON.parse(input.value) : null;
    } catch (error) {
      fill(problem, `The input is not JSON: ${error.message}`);
      input.focus();
      return;
    }
    const path = `/v1/workflows/${encodeURIComponent(type)}/jobs?account=${encodeURIComponent(account)}`;
    const body = { input: content, key: key.value || null };
    const job = await attempt(() => ask("POST", path, body));
    if (!job) return;
    location.hash = flowHash(account, type, job.job_id);
  } }, h("h2", {}, "Submit a job"),
  field("Input", input, "JSON of at most 64 KiB; empty means null."),
  field("Key (optional)", key, "The same key gives the same job for a day."), problem,
  h("button", { type: "submit", class: "primary" }, "Submit"));
}

function jobList(account, type) {
  const state = { state: "", pages: [""] };
  const filter = h("select", { onchange: () => {
    Object.assign(state, { state: filter.value, pages: [""] });
    refresh();
  } }, h("option", { value: "" }, "all"),
  STATES.map((each) => h("option", { value: each }, each)));
  const newer = h("button", { type: "button", onclick: () => {
    state.pages.pop();
    refresh();
  } }, "Newer");
  let next = null;
  const older = h("button", { type: "button", onclick: () => {
    state.pages.push(next);
    refresh();
  } }, "Older");
  const table = new LiveTable({
    caption: "Jobs", empty: "There are no such jobs on this page.", keyOf: (job) => job.job_id,
    columns: [
      { label: "Job", head: true, mark: (job) => job.job_id,
        cell: (job) => h("a", { href: flowHash(account, type, job.job_id) }, job.job_id) },
      { label: "State", cell: (job) => badge(job.state), mark: (job) => job.state },
      { label: "Submitted", cell: (job) => time(job.created_ms) },
      { label: "Took", number: true,
        cell: (job) => (job.ended_ms ? took(job.ended_ms - job.created_ms) : "–") },
      { label: "Tasks ended", number: true, cell: (job) => {
        const tasks = Object.values(job.tasks);
        return `${tasks.filter((task) => task.state === "ended").length} of ${tasks.length}`;
      } },
      { label: "Error", class: "body", cell: (job) => job.error ?? "" },
    ],
  });

  async function refresh() {
    const asked = JSON.stringify(state);
    const page = await get("/v1/jobs", { account, type, state: state.state,
      after: state.pages.at(-1), limit: JOBS });
    if (asked !== JSON.stringify(state)) return;
    table.show(page.jobs);
    next = page.next;
    older.disabled = !next;
    newer.disabled = state.pages.length === 1;
  }

  const element = h("div", {}, h("div", { class: "row" }, field("State", filter)), table.element,
    h("div", { class: "buttons" }, newer, older));
  return { element, refresh };
}

const KINDS = { ended: "badge good", failed: "badge bad", cancelled: "badge warn" };

export const badge = (state) => h("span", { class: KINDS[state] ?? "badge" }, state);
