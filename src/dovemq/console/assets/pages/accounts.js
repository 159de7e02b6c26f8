// Accounts: roles, passwords, access keys, quotas and their use, and what a policy allows.
import { ask, get } from "../api.js";
import { attempt, confirmByName, formDialog } from "../dialogs.js";
import { field, fill, h } from "../dom.js";
import { time } from "../format.js";
import { explainCard } from "./explain.js";
import { usageFacts } from "./usage.js";

const QUOTAS = [["queues_max", "Queues"], ["bytes_max", "Bytes"],
  ["requests_per_second_max", "Requests per second"]];
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DAYS_MAX = 36_500;
const pathOf = (number, rest = "") => `/v1/accounts/${encodeURIComponent(number)}${rest}`;

export async function accountsPage({ frame, parts, alive }) {
  if (parts[1]) return accountPage({ frame, number: parts[1], alive });
  const { accounts } = await get("/v1/accounts", { limit: 1_000 });
  const rows = accounts.map((account) => h("tr", {},
    h("th", { scope: "row" }, h("a", { href: `#/accounts/${account.number}` }, account.name ?? account.number)),
    h("td", {}, account.number), h("td", {}, account.role ?? "no role"),
    h("td", {}, account.enabled ? "enabled" : h("span", { class: "badge bad" }, "disabled")),
    h("td", { class: "number" }, account.credentials.length),
    h("td", {}, account.has_password ? "yes" : "no")));
  fill(frame, h("div", { class: "head" }, h("h1", {}, "Accounts"),
    h("button", { type: "button", class: "primary", onclick: addAccount }, "Add an account")),
  table("Accounts", ["Name", "Number", "Role", "State", "Keys", "Password"], rows));
}

const table = (caption, labels, rows) =>
  h("div", { class: "frame", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {}, h("caption", { class: "hidden" }, caption),
      h("thead", {}, h("tr", {}, labels.map((label) => h("th", { scope: "col" }, label)))),
      h("tbody", {}, rows)));

const roleInput = (role) => h("select", { name: "role" },
  ["", "viewer", "operator", "admin"].map((each) =>
    h("option", { value: each, selected: each === (role ?? "") }, each || "no role")));

function addAccount() {
  return formDialog({ title: "Add an account", action: "Add",
    fields: [field("Name", h("input", { name: "name", required: true, autocomplete: "off" })),
      field("Role", roleInput(null))],
    act: async (values) => {
      const account = await ask("POST", "/v1/accounts",
        { name: values.get("name"), role: values.get("role") || null });
      location.hash = `#/accounts/${account.number}`;
    } });
}

async function accountPage({ frame, number, alive }) {
  const [account, usage] = await Promise.all([get(pathOf(number)), get(pathOf(number, "/usage"))]);
  if (!alive()) return;
  const again = () => dispatchEvent(new Event("hashchange"));
  const act = (label, work, done) => h("button", { type: "button", onclick: async () => {
    if (await attempt(work, done)) again();
  } }, label);
  const change = (body) => ask("PATCH", pathOf(number), body);
  fill(frame,
    h("div", { class: "head" }, h("div", {}, h("h1", {}, account.name ?? number),
      h("p", { class: "hint" }, `Account ${number}, since ${time(account.created_ms)}`)),
    h("div", { class: "buttons" },
      account.enabled
        ? act("Disable", () => change({ enabled: false }), "The account is disabled.")
        : act("Enable", () => change({ enabled: true }), "The account is enabled."),
      h("button", { type: "button", onclick: () => setPassword(number) }, "Set a password"),
      h("button", { type: "button", class: "danger", onclick: () => confirmByName({
        title: "Remove the account", name: account.name ?? number, action: "Remove",
        text: "An account with queues cannot be removed.",
        act: async () => {
          await ask("DELETE", pathOf(number));
          location.hash = "#/accounts";
        } }) }, "Remove"))),
    h("div", { class: "columns" }, roleCard(account, change, again),
      quotaCard(account, usage, change, again)),
    h("div", { class: "head" }, h("h2", {}, "Access keys"),
      h("button", { type: "button", onclick: () => addKey(number, again) }, "Add a key")),
    table("Access keys", ["Key id", "State", "Created", "Expires", "Actions"],
      account.credentials.map((key) => keyRow(number, key, act, again))),
    explainCard(pathOf(number, "/may")));
}

function roleCard(account, change, again) {
  const role = roleInput(account.role);
  return h("form", { class: "card", onsubmit: async (event) => {
    event.preventDefault();
    if (await attempt(() => change({ role: role.value || null }), "The role is changed.")) again();
  } }, h("h2", {}, "Role"), field("Role", role,
    "Without a role an account sees and changes its own queues only."),
  h("button", { type: "submit" }, "Save the role"));
}

function quotaCard(account, usage, change, again) {
  const inputs = QUOTAS.map(([name, label]) => [name, label, h("input", { type: "number", min: "0",
    value: account.quotas[name] ?? "", placeholder: "no limit" })]);
  return h("form", { class: "card", onsubmit: async (event) => {
    event.preventDefault();
    const quotas = Object.fromEntries(inputs.map(([name, , input]) =>
      [name, input.value === "" ? null : Number(input.value)]));
    if (await attempt(() => change({ quotas }), "The quotas are changed.")) again();
  } }, h("h2", {}, "Quotas"), usageFacts(usage),
  inputs.map(([, label, input]) => field(label, input)),
  h("button", { type: "submit" }, "Save the quotas"));
}

function keyRow(number, key, act, again) {
  const path = pathOf(number, `/credentials/${encodeURIComponent(key.key_id)}`);
  return h("tr", {}, h("th", { scope: "row" }, key.key_id),
    h("td", {}, key.enabled ? "enabled" : h("span", { class: "badge bad" }, "disabled")),
    h("td", {}, time(key.created_ms)), h("td", {}, key.expires_ms ? time(key.expires_ms) : "never"),
    h("td", {}, h("div", { class: "buttons" },
      h("button", { type: "button", onclick: () => rotate(path, key, again) }, "Rotate"),
      act(key.enabled ? "Disable" : "Enable", () => ask("PATCH", path, { enabled: !key.enabled })),
      h("button", { type: "button", class: "danger", onclick: () => formDialog({
        title: "Remove the key", text: `Clients that use ${key.key_id} are refused at once.`,
        action: "Remove", danger: true,
        act: async () => {
          await ask("DELETE", path);
          again();
        } }) }, "Remove"))));
}

async function addKey(number, again) {
  const made = await formDialog({ title: "Add a key", action: "Make the key",
    fields: [field("Valid for days (optional)", h("input", { name: "days", type: "number", min: "1",
      max: String(DAYS_MAX) }), "Empty: it never expires.")],
    act: (values) => ask("POST", pathOf(number, "/credentials"),
      { lifetime_ms: values.get("days") ? Number(values.get("days")) * DAY_MS : null }) });
  if (made) await showSecret(made, again);
}

async function rotate(path, key, again) {
  const made = await formDialog({ title: "Rotate the key", action: "Make a new key",
    text: `There will be a new key beside ${key.key_id}, which stays valid for a while.`,
    fields: [field("Hours until the old key expires", h("input", { name: "hours", type: "number",
      min: "0", max: "8760", value: "24", required: true }))],
    act: (values) => ask("POST", `${path}/rotations`,
      { grace_ms: Number(values.get("hours")) * HOUR_MS }) });
  if (made) await showSecret(made, again);
}

async function showSecret(made, again) {
  await formDialog({ title: "The new key",
    text: "The secret is shown only here. Keep it in a safe place.", action: "I have it",
    fields: [field("Key id", h("input", { value: made.key_id, readonly: true })),
      field("Secret", h("input", { value: made.secret, readonly: true }))],
    act: async () => true });
  again();
}

function setPassword(number) {
  return formDialog({ title: "Set a password", action: "Set",
    text: "All sessions of the account end.",
    fields: [field("New password", h("input", { type: "password", name: "password", required: true,
      autocomplete: "new-password" }))],
    act: (values) => ask("PUT", pathOf(number, "/password"), { password: values.get("password") }) });
}
