import { get } from "../api.js";
import { LiveTable, fill, h } from "../dom.js";

const ENTRIES = 200;

export async function auditPage({ frame, every }) {
  const table = new LiveTable({
    caption: "Audit log", empty: "Nothing is recorded.", keyOf: (each) => each.sequence,
    columns: [
      { label: "Time", head: true, cell: (each) => each.ts },
      { label: "Account", cell: (each) => each.account ?? "the service" },
      { label: "Action", cell: (each) => each.action },
      { label: "Target", cell: (each) => each.target },
      { label: "Outcome", cell: (each) => each.outcome },
      { label: "Address", cell: (each) => each.peer ?? "" },
      { label: "Details", class: "body", cell: (each) => JSON.stringify(each.details ?? {}) },
    ],
  });
  fill(frame, h("h1", {}, "Audit log"),
    h("p", { class: "hint" }, `The newest ${ENTRIES} changes and denied changes.`), table.element);
  await every(async () => {
    const { entries } = await get("/v1/audit", { limit: ENTRIES });
    table.show(entries.reverse());
  }, 5_000);
}
