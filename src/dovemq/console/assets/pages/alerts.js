// The alerts of all queues or of one, which stay the same elements while figures change.
import { arrange, h, setText } from "../dom.js";
import { count } from "../format.js";
import { queueHash } from "./rows.js";

const CLASSES = { "dead-letters": "bad", "no-consumers": "bad", capacity: "bad" };

export const alertClass = (kind) => CLASSES[kind] ?? "warn";

export class AlertList {
  constructor() {
    this.known = new Map();
    this.list = h("ul", { class: "alerts", hidden: true });
    this.empty = h("p", { class: "empty", hidden: true }, "There are no alerts.");
    this.more = h("p", { class: "hint", hidden: true });
    this.element = h("div", {}, this.list, this.empty, this.more);
  }

  // `total` may be more than the alerts that are listed.
  show(alerts, total = alerts.length) {
    this.known = new Map(alerts.map((alert) => {
      const key = `${alert.kind} ${alert.account}/${alert.name}`;
      const known = this.known.get(key) ?? added(alert);
      setText(known.text, ` – ${alert.text}`);
      return [key, known];
    }));
    arrange(this.list, [...this.known.values()].map((known) => known.element));
    this.list.hidden = alerts.length === 0;
    this.empty.hidden = alerts.length > 0;
    this.more.hidden = total <= alerts.length;
    setText(this.more, `and ${count(total - alerts.length)} more: sort the queues by alerts`);
  }
}

function added(alert) {
  const text = h("span");
  const element = h("li", {}, h("span", { class: `badge ${alertClass(alert.kind)}` }, alert.kind), " ",
    h("a", { href: queueHash(alert.account, alert.name) }, alert.name), text);
  return { element, text };
}
