// The table of queues that the overview and the list of queues share.
import { session } from "../api.js";
import { LiveTable, h } from "../dom.js";
import { age, count, rate } from "../format.js";

export const queueHash = (account, name, tab = "") =>
  `#/queues/${encodeURIComponent(account)}/${encodeURIComponent(name)}${tab && `/${tab}`}`;

const COLUMNS = [
  { label: "Queue", sort: "name", head: true, cell: nameCell,
    mark: (row) => JSON.stringify([row.name, row.paused, row.alerts]) },
  { label: "Visible", sort: "visible", number: true, cell: (row) => count(row.visible) },
  { label: "Leased", sort: "leased", number: true, cell: (row) => count(row.leased) },
  { label: "Delayed", sort: "delayed", number: true, cell: (row) => count(row.delayed) },
  { label: "Oldest", sort: "age", number: true, cell: (row) => age(row.oldest_age_ms) },
  { label: "Sent/s", sort: "sent", number: true, cell: (row) => rate(row.rates.sent) },
  { label: "Received/s", sort: "received", number: true, cell: (row) => rate(row.rates.received) },
  { label: "Deleted/s", sort: "settled", number: true, cell: (row) => rate(row.rates.settled) },
  { label: "Consumers", sort: "consumers", number: true, cell: (row) => count(row.consumers) },
];

function nameCell(row) {
  const own = row.account === session.account;
  return h("span", {},
    h("a", { href: queueHash(row.account, row.name) }, row.name),
    own ? null : h("span", { class: "hint" }, ` ${row.account}`),
    row.paused ? [" ", h("span", { class: "badge warn" }, "paused")] : null,
    row.alerts.filter((each) => each.kind !== "paused")
      .map((each) => [" ", h("span", { class: "badge bad", title: each.text }, each.kind)]));
}

export function queueTable({ caption, sorted, onSort }) {
  const columns = onSort ? COLUMNS : COLUMNS.map((column) => ({ ...column, sort: null }));
  return new LiveTable({ caption, columns, sorted, onSort, empty: "There are no queues here.",
    keyOf: (row) => `${row.account}/${row.name}` });
}
