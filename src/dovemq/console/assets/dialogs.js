// Notices and dialogs. A dialog returns the focus to where it was.
import { h, field, fill } from "./dom.js";

const NOTICE_MS = 6_000;

export function notice(text, bad = false) {
  const element = h("div", { class: bad ? "notice bad" : "notice" }, text,
    h("button", { type: "button", class: "quiet", "aria-label": "Close this notice",
      onclick: () => element.remove() }, "×"));
  document.getElementById("notices").append(element);
  setTimeout(() => element.remove(), NOTICE_MS * (bad ? 2 : 1));
}

// Does the work, and shows its refusal.
export async function attempt(work, done) {
  try {
    const result = await work();
    if (done) notice(done);
    return result ?? true;
  } catch (error) {
    notice(error.message, true);
    if (error.code === "SessionEnded") location.hash = "#/login";
    return null;
  }
}

// A form in a dialog. `act` gets the form's values; a refusal is shown in the dialog.
export function formDialog({ title, text, fields = [], action, danger, act }) {
  return new Promise((resolve) => {
    const problem = h("p", { class: "problem", role: "alert" });
    const submit = h("button", { type: "submit", class: danger ? "danger" : "primary" }, action);
    const close = (result) => {
      dialog.close();
      dialog.remove();
      resolve(result);
    };
    const form = h("form", {
      onsubmit: async (event) => {
        event.preventDefault();
        submit.disabled = true;
        fill(problem);
        try {
          close((await act(new FormData(form))) ?? true);
        } catch (error) {
          fill(problem, error.message);
          submit.disabled = false;
        }
      },
    },
    h("h2", { id: "dialog-title" }, title), text ? h("p", {}, text) : null, fields, problem,
    h("div", { class: "buttons" },
      h("button", { type: "button", onclick: () => close(null) }, "Cancel"), submit));
    const dialog = h("dialog", { "aria-labelledby": "dialog-title" }, form);
    dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      close(null);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

// Asks to type a name before what cannot be undone.
export function confirmByName({ title, text, name, action, act }) {
  const input = h("input", { name: "typed", autocomplete: "off", required: true,
    spellcheck: "false" });
  return formDialog({
    title, text, action, danger: true,
    fields: [field(`Type ${name} to confirm`, input)],
    act: async (values) => {
      if (values.get("typed") !== name) throw new Error(`This is not ${name}.`);
      return act();
    },
  });
}
