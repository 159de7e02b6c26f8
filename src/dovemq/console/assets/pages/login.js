import { logIn, session } from "../api.js";
import { field, fill, h } from "../dom.js";

export function loginPage({ frame }) {
  Object.assign(session, { account: null, name: null, role: null, csrf: null });
  const problem = h("p", { class: "problem", role: "alert" });
  const account = h("input", { name: "account", autocomplete: "username", required: true });
  const password = h("input", { name: "password", type: "password", required: true,
    autocomplete: "current-password" });
  const submit = h("button", { type: "submit", class: "primary" }, "Log in");
  const form = h("form", {
    onsubmit: async (event) => {
      event.preventDefault();
      submit.disabled = true;
      fill(problem);
      try {
        await logIn(account.value, password.value);
        location.hash = "#/";
      } catch (error) {
        fill(problem, error.message);
        password.value = "";
        password.focus();
      }
      submit.disabled = false;
    },
  }, field("Account", account, "Its name or its number."), field("Password", password), problem,
  h("div", { class: "buttons" }, submit));
  fill(frame, h("div", { class: "login card" }, h("h1", {}, "Log in"), form,
    h("p", { class: "hint" }, "A password is set by: dovemq account password NAME")));
  account.focus();
}
