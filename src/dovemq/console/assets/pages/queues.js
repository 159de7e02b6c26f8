import { ask, get, queuePath, session } from "../api.js";
import { formDialog } from "../dialogs.js";
import { field, fill, h, setText } from "../dom.js";
import { count } from "../format.js";
import { queueHash, queueTable } from "./rows.js";

const ROWS = 50;
const TYPING_MS = 200;

export async function queuesPage({ frame, every }) {
  const state = { contains: "", sort: "name", order: "up", offset: 0 };
  const filter = h("input", { type: "search", placeholder: "part of a name", oninput: typed });
  const found = h("p", { class: "hint", role: "status" });
  const back = h("button", { type: "button", onclick: () => move(-ROWS) }, "Back");
  const forth = h("button", { type: "button", onclick: () => move(ROWS) }, "Next");
  const table = queueTable({ caption: "Queues", sorted: ["name", "up"], onSort: (sort, order) => {
    Object.assign(state, { sort, order, offset: 0 });
    refresh();
  } });
  let timer = 0;

  function typed() {
    clearTimeout(timer);
    timer = setTimeout(() => {
      Object.assign(state, { contains: filter.value.trim(), offset: 0 });
      refresh();
    }, TYPING_MS);
  }

  function move(by) {
    state.offset = Math.max(0, state.offset + by);
    refresh();
  }

  async function refresh() {
    const asked = JSON.stringify(state);
    const page = await get("/v1/overview/queues", { ...state, limit: ROWS });
    if (asked !== JSON.stringify(state)) return;
    table.show(page.queues);
    const last = Math.min(state.offset + ROWS, page.matching);
    setText(found, page.matching
      ? `${count(state.offset + 1)} to ${count(last)} of ${count(page.matching)}` : "No queue");
    back.disabled = state.offset === 0;
    forth.disabled = last >= page.matching;
  }

  fill(frame,
    h("div", { class: "head" }, h("h1", {}, "Queues"),
      h("button", { type: "button", class: "primary", onclick: createQueue }, "Create a queue")),
    h("div", { class: "row" }, field("Filter", filter), found),
    table.element,
    h("div", { class: "buttons" }, back, forth));
  await every(refresh);
}

function createQueue() {
  const name = h("input", { name: "name", required: true, maxlength: "80", autocomplete: "off",
    pattern: "[A-Za-z0-9_\\-]+(\\.fifo)?" });
  const timeout = h("input", { name: "VisibilityTimeout", type: "number", min: "0", max: "43200",
    placeholder: "30" });
  return formDialog({
    title: "Create a queue", action: "Create",
    fields: [
      field("Name", name, "Letters, digits, - and _. A name that ends in .fifo makes a FIFO queue."),
      field("Visibility timeout in seconds", timeout)],
    act: async (values) => {
      const attributes = {};
      if (values.get("VisibilityTimeout"))
        attributes.VisibilityTimeout = values.get("VisibilityTimeout");
      await ask("PUT", queuePath(session.account, values.get("name")), { attributes });
      location.hash = queueHash(session.account, values.get("name"));
    },
  });
}
