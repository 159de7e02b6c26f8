// Moves messages one by one, at a rate, until all are moved or the move is cancelled.
import { ask, get } from "../api.js";
import { formDialog } from "../dialogs.js";
import { field, fill, h, setText } from "../dom.js";
import { count } from "../format.js";

const PAGE = 50;
const SECOND_MS = 1_000;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// `places` are those of the messages, as an iterable; `all` says in a word or two which ones.
// `moved` is called with the place of each message that is moved, `done` when the move has ended.
export async function redrive({ title, text, all, path, account, places, panel, alive, moved, done }) {
  const chosen = await targetAndRate(title, text);
  if (!chosen) return;
  const body = { target: chosen.target ? `${account}/${chosen.target}` : null };
  const status = h("p", { role: "status" }, "0 moved");
  let cancelled = false;
  const cancel = h("button", { type: "button", onclick: () => {
    cancelled = true;
  } }, "Cancel the move");
  fill(panel, h("div", { class: "card" }, status, cancel));
  let finished = 0;
  let outcome = all;
  try {
    for await (const place of places) {
      if (cancelled || !alive()) {
        outcome = "the move was cancelled";
        break;
      }
      await movedOne(path, place, body);
      moved?.(place);
      finished += 1;
      setText(status, `${count(finished)} moved`);
      await pause(SECOND_MS / chosen.rate);
    }
  } catch (error) {
    outcome = error.message;
  }
  cancel.remove();
  setText(status, `${count(finished)} moved: ${outcome}`);
  if (alive()) done();
}

async function targetAndRate(title, text) {
  const target = h("input", { name: "target", autocomplete: "off",
    placeholder: "the queue that each came from" });
  const rate = h("input", { name: "rate", type: "number", min: "1", max: "500", required: true,
    value: "50" });
  return formDialog({
    title, text: `${text} Keep this page open: leaving it ends the move.`, action: "Begin",
    fields: [field("To the queue", target, "A queue of the same account; empty for the origin."),
      field("Messages per second", rate)],
    act: (values) => ({ target: values.get("target").trim(), rate: Number(values.get("rate")) }),
  });
}

async function movedOne(path, place, body) {
  try {
    await ask("POST", `${path}/${place}/move`, body);
  } catch (error) {
    throw new Error(`Message ${place}: ${error.message}`);
  }
}

// The places of the messages that a search finds, on all pages, without those that consumers hold.
export async function* placesOf(path, query) {
  let after = "";
  while (after !== null) {
    const page = await get(path, { ...query, limit: PAGE, after });
    for (const message of page.messages)
      if (message.visibility !== "leased") yield `${message.sequence}.${message.partition}`;
    after = page.next;
  }
}
