// One job: its state, its timeline, its tasks, input and result; cancel and retry.
import { ask, get, may } from "../api.js";
import { attempt } from "../dialogs.js";
import { LiveTable, fill, h } from "../dom.js";
import { time, took } from "../format.js";
import { timeline } from "../timeline.js";
import { badge } from "./workflow.js";
import { flowHash } from "./workflows.js";

const POLL_MS = 1_000;

export async function jobPage({ frame, every, account, type, id }) {
  const path = `/v1/jobs/${encodeURIComponent(id)}`;
  const facts = h("dl", { class: "facts" });
  const bars = h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Timeline" });
  const buttons = h("div", { class: "buttons" });
  const input = h("pre", { tabindex: "0", "aria-label": "Input" });
  const result = h("pre", { tabindex: "0", "aria-label": "Result" });
  const tasks = taskTable();
  const change = (what, done) => async () => {
    const query = `?account=${encodeURIComponent(account)}`;
    if (await attempt(() => ask("POST", `${path}/${what}${query}`), done)) await refresh();
  };
  let shown = null;

  async function refresh() {
    const job = await get(path, { account });
    const running = job.state === "running";
    if (running) fill(bars, timeline(job, Date.now()));
    const mark = JSON.stringify(job);
    if (mark === shown) return;
    shown = mark;
    if (!running) fill(bars, timeline(job, Date.now()));
    fill(facts, [["State", badge(job.state)], ["Submitted", time(job.created_ms)],
      ["Took", job.ended_ms ? took(job.ended_ms - job.created_ms) : "–"],
      ["Version", job.version], ["Error", job.error ?? "–"]]
      .map(([label, value]) => [h("dt", {}, label), h("dd", {}, value)]));
    fill(input, JSON.stringify(job.input, null, 2));
    fill(result, job.state === "ended" ? JSON.stringify(job.result, null, 2) : "The job has no result.");
    tasks.show(Object.entries(job.tasks).flatMap(([name, task]) =>
      [...task.earlier, task].map((each) => ({ ...each, name, state: each.state ?? "failed" }))));
    fill(buttons, may("operator", account) && running
      ? h("button", { type: "button", class: "danger",
        onclick: change("cancellation", "The job is cancelled.") }, "Cancel the job") : null,
    may("operator", account) && job.state === "failed"
      ? h("button", { type: "button", class: "primary",
        onclick: change("retry", "The failed tasks run again.") }, "Retry") : null);
  }

  fill(frame, h("div", { class: "head" }, h("div", {}, h("h1", {}, `Job ${id}`),
    h("p", { class: "hint" }, h("a", { href: flowHash(account, type) }, type),
      ` of account ${account}`)), buttons),
  facts,
  h("section", { class: "card" }, h("h2", {}, "Timeline"), bars,
    h("ul", { class: "legend" }, [["waits", "waits"], ["worked", "worked"], ["failed", "failed"]]
      .map(([kind, label]) => h("li", {}, h("span", { class: `key ${kind}`, "aria-hidden": "true" }),
        label)))),
  tasks.element,
  h("div", { class: "columns next" },
    h("section", { class: "card" }, h("h2", {}, "Input"), input),
    h("section", { class: "card" }, h("h2", {}, "Result"), result)));
  await every(refresh, POLL_MS);
}

function taskTable() {
  return new LiveTable({
    caption: "Tasks", empty: "There are no tasks.", keyOf: (each) => `${each.name} ${each.attempt}`,
    columns: [
      { label: "Task", head: true, cell: (each) => each.name },
      { label: "Attempt", number: true, cell: (each) => each.attempt ?? "–" },
      { label: "State", cell: (each) => badge(each.state), mark: (each) => each.state },
      { label: "Waited", number: true, cell: (each) => (each.started_ms === null
        ? "–" : took(each.started_ms - each.published_ms)) },
      { label: "Worked", number: true, cell: (each) => took(each.service_ms) },
      { label: "Worker", cell: (each) => each.worker ?? "–" },
      { label: "Error", class: "body", cell: (each) => each.error ?? "" },
    ],
  });
}
