// What an account uses of its quotas; everybody sees their own.
import { get, session } from "../api.js";
import { fill, h } from "../dom.js";
import { count, size } from "../format.js";

const SHOWN = [["queues", "Queues", count], ["messages", "Messages", count], ["bytes", "Bytes", size]];

// usage: the document of the admin API.
export function usageFacts({ used, quotas }) {
  return h("dl", { class: "facts" }, SHOWN.map(([name, label, format]) => {
    const most = quotas[`${name}_max`] ?? null;
    const text = most === null
      ? `${format(used[name])}, no limit` : `${format(used[name])} of ${format(most)}`;
    const meter = most === null ? null : h("progress", { max: String(Math.max(most, 1)),
      value: Math.min(used[name], Math.max(most, 1)), "aria-label": `${label} in use` });
    return [h("dt", {}, label), h("dd", {}, text, meter)];
  }));
}

export async function ownAccountPage({ frame }) {
  const usage = await get(`/v1/accounts/${encodeURIComponent(session.account)}/usage`);
  const rate = usage.quotas.requests_per_second_max;
  fill(frame, h("div", { class: "head" }, h("div", {}, h("h1", {}, "My account"),
    h("p", { class: "hint" }, `${session.name ?? ""} ${session.account} · ${session.role ?? "no role"}`))),
  h("section", { class: "card" }, h("h2", {}, "Quotas"), usageFacts(usage),
    h("p", {}, rate === null ? "The rate of requests is not limited."
      : `At most ${count(rate)} requests per second.`)));
}
