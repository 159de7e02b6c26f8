// Looks at the messages of a queue without receiving them, and changes single ones.
import { ask, get, queuePath } from "../api.js";
import { attempt, formDialog } from "../dialogs.js";
import { field, fill, h, setText } from "../dom.js";
import { age, bytesOf, count, size, time } from "../format.js";
import { placesOf, redrive } from "./redriving.js";

const PAGE = 50;
const PREVIEW = 160;

export const placeOf = (message) => `${message.sequence}.${message.partition}`;

export async function messagesTab({ frame, account, name, queue, alive }) {
  const path = queuePath(account, name, "/messages");
  const state = { pages: [""], page: 0, next: null, asked: null };
  const selected = new Set();
  const contains = h("input", { type: "search", placeholder: "in body, id, group or attributes" });
  const visibility = h("select", {}, [["", "any state"], ["visible", "visible"],
    ["leased", "leased"], ["delayed", "delayed"]].map(([value, label]) =>
    h("option", { value }, label)));
  const status = h("p", { class: "hint", role: "status" });
  const body = h("tbody");
  const all = h("input", { type: "checkbox", "aria-label": "Select all messages of this page",
    onchange: () => {
      for (const box of body.querySelectorAll("input[type=checkbox]"))
        if (box.checked !== all.checked) box.click();
    } });
  const chosen = h("span", { class: "hint", role: "status" }, "0 selected");
  const remove = h("button", { type: "button", class: "danger", disabled: true,
    onclick: () => removeSelected() }, "Delete selected");
  const move = h("button", { type: "button", disabled: true,
    onclick: () => moveSelected() }, "Move selected");
  const matching = h("button", { type: "button", disabled: true, onclick: () => moveMatching() },
    "Move all that match");
  const moving = h("div");
  const back = h("button", { type: "button", onclick: () => turn(-1) }, "Back");
  const forth = h("button", { type: "button", onclick: () => turn(1) }, "Next");
  const table = h("div", { class: "frame", tabindex: "0", role: "region", "aria-label": "Messages" },
    h("table", {}, h("caption", { class: "hidden" }, "Messages"),
      h("thead", {}, h("tr", {}, h("th", {}, all),
        ["Sequence", "State", "Sent", "Receives", "Group", "Size", "Body", "Actions"].map((label) =>
          h("th", { scope: "col" }, label)))),
      body));
  const search = h("form", { class: "row", onsubmit: (event) => {
    event.preventDefault();
    Object.assign(state, { pages: [""], page: 0 });
    load();
  } }, field("Search", contains), field("State", visibility),
  h("button", { type: "submit", class: "primary" }, "Look"));
  fill(frame, search,
    h("p", { class: "hint" }, "Nothing is received by looking. A search looks at 1,000 messages at a time."),
    h("div", { class: "row" }, remove, move, matching, chosen), moving, status, table,
    h("div", { class: "buttons" }, back, forth));

  function turn(by) {
    state.page += by;
    if (state.page >= state.pages.length) state.pages.push(String(state.next));
    load();
  }

  function mark() {
    setText(chosen, `${selected.size} selected`);
    remove.disabled = move.disabled = selected.size === 0;
  }

  async function load() {
    selected.clear();
    all.checked = false;
    mark();
    await attempt(async () => {
      const page = await get(path, { limit: PAGE, after: state.pages[state.page],
        contains: contains.value, visibility: visibility.value });
      if (!alive()) return;
      state.next = page.next;
      matching.disabled = !(contains.value || visibility.value);
      fill(body, page.messages.flatMap(rowsOf));
      table.hidden = page.messages.length === 0;
      back.disabled = state.page === 0;
      forth.disabled = page.next === null;
      const looked = page.looked === undefined ? "" : ` among ${count(page.looked)}`;
      setText(status, `${count(page.messages.length)} ${page.messages.length === 1 ? "message" : "messages"}${looked}, at ${new Date().toLocaleTimeString()}`);
    });
  }

  function rowsOf(message) {
    const place = placeOf(message);
    const box = h("input", { type: "checkbox", "aria-label": `Select message ${place}`,
      onchange: () => {
        if (box.checked) selected.add(place);
        else selected.delete(place);
        mark();
      } });
    const details = h("tr", { hidden: true }, h("td", { colspan: "9" }, detailsOf(message)));
    const open = h("button", { type: "button", "aria-expanded": "false", onclick: () => {
      details.hidden = !details.hidden;
      open.setAttribute("aria-expanded", String(!details.hidden));
    } }, "Details");
    const act = (label, danger, work, done) => h("button", { type: "button",
      class: danger ? "danger" : null, "aria-label": `${label} message ${place}`,
      onclick: async () => {
        if (await attempt(work, done)) load();
      } }, label);
    const buttons = [open];
    if (message.visibility === "leased")
      buttons.push(act("Release", false, () => ask("POST", `${path}/${place}/release`),
        "The message is visible again."));
    buttons.push(act("Delete", true, () => ask("DELETE", `${path}/${place}`),
      "The message is deleted."));
    return [h("tr", { "data-place": place }, h("td", {}, box),
      h("th", { scope: "row", class: "number" }, place), h("td", {}, stateOf(message)),
      h("td", {}, time(message.sent_ms)), h("td", { class: "number" }, message.receive_count),
      h("td", {}, message.group ?? ""), h("td", { class: "number" }, size(bytesOf(message.body))),
      h("td", { class: "body" }, preview(message.body)),
      h("td", {}, h("div", { class: "buttons" }, buttons))), details];
  }

  async function removeSelected() {
    const done = await formDialog({ title: `Delete ${selected.size} messages`, danger: true,
      text: "They are deleted also if consumers hold them. This cannot be undone.",
      action: "Delete", act: () => each((place) => ask("DELETE", `${path}/${place}`)) });
    if (done) load();
  }

  function moveSelected() {
    redrive({ title: `Move ${selected.size} messages`, all: "all that were selected",
      text: "Messages that consumers hold cannot be moved.", places: [...selected], path, account,
      panel: moving, alive, done: load, moved: (place) => {
        selected.delete(place);
        mark();
      } });
  }

  function moveMatching() {
    const query = { contains: contains.value, visibility: visibility.value };
    redrive({ title: "Move all messages that match", all: "all that match",
      text: "The search is made anew, also beyond this page. Messages that consumers hold stay.",
      places: placesOf(path, query), path, account, panel: moving, alive, done: load });
  }

  // One after the other, so that a refusal says which ones are left.
  async function each(work) {
    let finished = 0;
    for (const place of [...selected]) {
      try {
        await work(place);
      } catch (error) {
        throw new Error(`${finished} are done. Message ${place}: ${error.message}`);
      }
      selected.delete(place);
      finished += 1;
      mark();
    }
  }

  await load();
}

function stateOf(message) {
  const left = message.visible_ms - Date.now();
  if (message.visibility === "visible") return h("span", { class: "badge good" }, "visible");
  const when = left > 0 ? `visible in ${age(left)}` : "visible now";
  return h("span", {}, h("span", { class: "badge warn" }, message.visibility), " ",
    h("span", { class: "hint" }, when));
}

function preview(text) {
  return text.length > PREVIEW ? `${text.slice(0, PREVIEW)}…` : text;
}

function detailsOf(message) {
  const facts = [["Message id", message.message_id], ["Sender", message.sender],
    ["Visible at", time(message.visible_ms)], ["First received", time(message.first_received_ms)],
    ["Deduplication id", message.deduplication_id], ["Came from", message.source],
    ["Trace", message.trace]];
  const attributes = Object.entries(message.attributes).map(([name, each]) =>
    [`${name} (${each.type})`, each.value ?? each.base64]);
  return [h("dl", { class: "facts" }, [...facts, ...attributes].filter(([, value]) => value)
    .map(([label, value]) => [h("dt", {}, label), h("dd", {}, value)])),
  h("pre", { tabindex: "0", "aria-label": "Body" }, pretty(message.body))];
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
