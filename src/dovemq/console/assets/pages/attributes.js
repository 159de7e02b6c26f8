import { ask, get, may, queuePath } from "../api.js";
import { notice } from "../dialogs.js";
import { field, fill, h } from "../dom.js";

const JSON_FORMS = ["redrive", "allow", "policy"];

export async function attributesTab({ frame, account, name, queue }) {
  const { attributes: known } = await get("/v1/attributes");
  const current = { ...queue.attributes };
  const mayChange = may("admin", account);
  const problem = h("p", { class: "problem", role: "alert" });
  const save = h("button", { type: "submit", class: "primary" }, "Save");
  const inputs = known.filter((each) => queue.fifo || !each.fifo)
    .map((each) => ({ ...each, input: inputOf(each, current[each.name] ?? "", !mayChange) }));
  const group = (title, extended) => h("section", { class: "card", "aria-label": title },
    h("h2", {}, title), inputs.filter((each) => each.extended === extended)
      .map((each) => field(each.name, each.input, hintOf(each))));
  const form = h("form", { onsubmit: async (event) => {
    event.preventDefault();
    fill(problem);
    const changes = {};
    for (const { name: attribute, input } of inputs)
      if (input.value !== (current[attribute] ?? "")) changes[attribute] = input.value;
    if (!Object.keys(changes).length) {
      notice("Nothing has changed.");
      return;
    }
    save.disabled = true;
    try {
      const answer = await ask("PATCH", queuePath(account, name), { attributes: changes });
      for (const each of inputs) {
        current[each.name] = answer.attributes[each.name];
        each.input.value = answer.attributes[each.name] ?? "";
      }
      notice("The attributes are changed.");
    } catch (error) {
      fill(problem, error.message);
    }
    save.disabled = false;
  } }, h("div", { class: "columns" }, group("Attributes of SQS", false),
    group("Attributes of DoveMQ", true)), problem,
  mayChange ? h("div", { class: "buttons" }, save)
    : h("p", { class: "hint" }, "Only the owner and admins can change them."));
  fill(frame, form);
}

function inputOf(attribute, value, disabled) {
  const fixed = disabled || attribute.name === "FifoQueue";
  const choices = attribute.form === "flag" ? ["true", "false"] : attribute.choices;
  if (choices.length)
    return h("select", { disabled: fixed }, choices.map((choice) =>
      h("option", { value: choice, selected: choice === value }, choice)));
  if (JSON_FORMS.includes(attribute.form))
    return h("textarea", { value, disabled: fixed, spellcheck: "false" });
  const number = ["seconds", "number"].includes(attribute.form);
  return h("input", { value, disabled: fixed, autocomplete: "off", type: number ? "number" : "text",
    min: number ? attribute.least : null, max: number ? attribute.most : null });
}

function hintOf(attribute) {
  const range = attribute.least === null ? "" : `${attribute.least} to ${attribute.most}`;
  if (attribute.form === "seconds") return range ? `${range} seconds` : "seconds";
  if (attribute.form === "order") return "a number from 1 to 1000, or any";
  if (attribute.form === "sizing" || attribute.form === "tuned") return `${range}, or auto`;
  if (JSON_FORMS.includes(attribute.form)) return "JSON as in SQS; empty for none";
  return range;
}
