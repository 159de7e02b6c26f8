// Moves all messages that a search finds, at a rate, until it ends or is cancelled.
import { ask, get } from "../api.js";
import { formDialog } from "../dialogs.js";
import { field, fill, h, setText } from "../dom.js";
import { count } from "../format.js";

const PAGE = 50;
const SECOND_MS = 1_000;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// `query` is that of the search; `done` is called when nothing is moved any more.
export async function redriveMatching({ path, account, query, place, alive, done }) {
  const target = h("input", { name: "target", autocomplete: "off",
    placeholder: "the queue that each came from" });
  const rate = h("input", { name: "rate", type: "number", min: "1", max: "500", required: true,
    value: "50" });
  const chosen = await formDialog({
    title: "Move all messages that match", action: "Begin",
    text: "The search is made anew, also beyond this page. Messages that consumers hold stay. " +
      "Keep this page open: leaving it ends the move.",
    fields: [field("To the queue", target, "A queue of the same account; empty for the origin."),
      field("Messages per second", rate)],
    act: (values) => ({ target: values.get("target").trim(), rate: Number(values.get("rate")) }),
  });
  if (!chosen) return;
  const body = { target: chosen.target ? `${account}/${chosen.target}` : null };
  let cancelled = false;
  const status = h("p", { role: "status" }, "0 moved");
  const cancel = h("button", { type: "button", onclick: () => {
    cancelled = true;
  } }, "Cancel the move");
  fill(place, h("div", { class: "card" }, status, cancel));
  let moved = 0;
  let outcome = "all that match";
  try {
    for await (const message of matching(path, query)) {
      if (cancelled || !alive()) {
        outcome = "the move was cancelled";
        break;
      }
      await ask("POST", `${path}/${message.sequence}.${message.partition}/move`, body);
      moved += 1;
      setText(status, `${count(moved)} moved`);
      await pause(SECOND_MS / chosen.rate);
    }
  } catch (error) {
    outcome = error.message;
  }
  cancel.remove();
  setText(status, `${count(moved)} moved: ${outcome}`);
  if (alive()) done();
}

async function* matching(path, query) {
  let after = "";
  while (after !== null) {
    const page = await get(path, { ...query, limit: PAGE, after });
    yield* page.messages.filter((message) => message.visibility !== "leased");
    after = page.next;
  }
}
