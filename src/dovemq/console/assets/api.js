// Requests to the admin API. The session is in a cookie that scripts cannot read.

export class Refusal extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export const session = { account: null, name: null, role: null, csrf: null };

const RANKS = { viewer: 1, operator: 2, admin: 3 };

// Whether the account may do what needs this role, for the queues of that account.
export function may(role, account) {
  if (account !== undefined && account === session.account) return true;
  return (RANKS[session.role] ?? 0) >= RANKS[role];
}

export async function ask(method, path, body) {
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (method !== "GET" && session.csrf) headers["X-DoveMQ-CSRF"] = session.csrf;
  let response;
  try {
    response = await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "same-origin",
      cache: "no-store",
    });
  } catch {
    throw new Refusal(0, "Unreachable", "The server cannot be reached.");
  }
  let document = {};
  try {
    document = await response.json();
  } catch {
    if (response.ok) throw new Refusal(response.status, "Malformed", "The answer is not JSON.");
  }
  if (response.ok) return document;
  const { code = "Failed", message = `The server answered ${response.status}.` } =
    document.error ?? {};
  throw new Refusal(response.status, code, message);
}

export const get = (path, query) => {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== "" && value != null);
  const text = new URLSearchParams(given).toString();
  return ask("GET", text ? `${path}?${text}` : path);
};

export async function resume() {
  Object.assign(session, { csrf: null }, await get("/v1/sessions/current"));
}

export async function logIn(account, password) {
  Object.assign(session, await ask("POST", "/v1/sessions", { account, password, cookie: true }));
}

export async function logOut() {
  await ask("DELETE", "/v1/sessions/current");
  Object.assign(session, { account: null, name: null, role: null, csrf: null });
}

export const queuePath = (account, name, rest = "") =>
  `/v1/queues/${encodeURIComponent(account)}/${encodeURIComponent(name)}${rest}`;
