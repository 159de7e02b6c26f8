import { get, queuePath } from "../api.js";
import { LiveTable, fill, h, setText } from "../dom.js";
import { age, count } from "../format.js";

export async function clientsTab({ frame, every, account, name }) {
  const waiting = h("p", { class: "hint" });
  const table = new LiveTable({
    caption: "Clients of the queue", empty: "Nobody has sent or received here in the last hour.",
    keyOf: (client) => `${client.peer} ${client.role}`,
    columns: [
      { label: "Address", head: true, cell: (client) => client.peer },
      { label: "Role", cell: (client) => client.role },
      { label: "Account", cell: (client) => client.account },
      { label: "Requests", number: true, cell: (client) => count(client.requests) },
      { label: "Last request", number: true, cell: (client) => `${age(client.idle_ms)} ago` },
      { label: "Program", class: "body", cell: (client) => client.agent },
    ],
  });
  fill(frame, waiting, table.element);
  await every(async () => {
    const page = await get(queuePath(account, name, "/clients"));
    const now = Date.now();
    table.show(page.clients.map((each) => ({ ...each, idle_ms: Math.max(0, now - each.last_ms) })));
    setText(waiting, `${count(page.count)} connections at this server; ${count(page.waiting)} ` +
      "receives wait for a message.");
  });
}
