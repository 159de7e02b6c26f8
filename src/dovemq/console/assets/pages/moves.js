import { ask, get, may, queuePath } from "../api.js";
import { attempt } from "../dialogs.js";
import { LiveTable, field, fill, h } from "../dom.js";
import { count, time } from "../format.js";

const FAILED_TASKS = /^topic-.+-dead$/;

export async function movesTab({ frame, every, account, name, queue }) {
  const path = queuePath(account, name, "/moves");
  const mayMove = may("operator", account);
  const table = new LiveTable({
    caption: "Move tasks", empty: "There was no move from this queue.",
    keyOf: (move) => move.move_id,
    columns: [
      { label: "Started", head: true, cell: (move) => time(move.started_ms) },
      { label: "To", cell: (move) => move.target?.split("/")[1] ?? "the queues of origin" },
      { label: "Rate", number: true, cell: (move) => move.rate_per_second ?? "as fast as possible" },
      { label: "Moved", number: true, cell: (move) => `${count(move.moved)} of ${count(move.to_move)}` },
      { label: "Progress", cell: progress, mark: (move) => `${move.moved} ${move.status}` },
      { label: "State", cell: (move) => move.failure ? `${move.status}: ${move.failure}` : move.status },
      { label: "", cell: (move) => cancelButton(move), mark: (move) => move.status },
    ],
  });

  function cancelButton(move) {
    if (move.status !== "RUNNING" || !mayMove) return "";
    return h("button", { type: "button", onclick: () => attempt(
      () => ask("DELETE", `${path}/${encodeURIComponent(move.move_id)}`), "The move ends.") },
    "Cancel");
  }

  const refresh = async () => table.show((await get(path)).moves);
  const target = h("input", { name: "target", autocomplete: "off",
    placeholder: "the queues of origin" });
  const rate = h("input", { name: "rate", type: "number", min: "1", max: "500" });
  const form = h("form", { class: "card row", onsubmit: async (event) => {
    event.preventDefault();
    const body = { target: target.value.trim() ? `${account}/${target.value.trim()}` : null,
      rate_per_second: rate.value ? Number(rate.value) : null };
    if (await attempt(() => ask("POST", path, body), "The move has begun.")) refresh();
  } }, field("To the queue", target, "A queue of this account; empty for the origin."),
  field("Messages per second", rate, "Empty: as fast as possible."),
  h("button", { type: "submit", class: "primary" }, "Move all messages"));
  const hint = h("p", { class: "empty" }, FAILED_TASKS.test(name)
    ? "Failed tasks do not move: retry their jobs on the page of their workflow, then delete these copies."
    : "This is no dead-letter queue: no queue names it in its redrive policy.");
  fill(frame, queue.sources.length ? (mayMove ? form : null) : hint, table.element);
  await every(refresh);
}

function progress(move) {
  return h("progress", { max: String(Math.max(move.to_move, 1)), value: move.moved,
    "aria-label": `Progress of the move` });
}
