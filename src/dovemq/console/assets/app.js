// The frame of the console: session, navigation, theme, and which page is shown.
import { get, logOut, may, resume, session } from "./api.js";
import { attempt } from "./dialogs.js";
import { fill, h } from "./dom.js";
import { accountsPage } from "./pages/accounts.js";
import { auditPage } from "./pages/audit.js";
import { loginPage } from "./pages/login.js";
import { overviewPage } from "./pages/overview.js";
import { queuePage } from "./pages/queue.js";
import { queuesPage } from "./pages/queues.js";
import { ownAccountPage } from "./pages/usage.js";
import { workflowsPage } from "./pages/workflows.js";

const POLL_MS = 1_000;
const RETRY_MS = 5_000;
const PLACES = [
  { hash: "#/", label: "Overview", page: overviewPage },
  { hash: "#/queues", label: "Queues", page: queuesPage },
  { hash: "#/workflows", label: "Workflows", page: workflowsPage },
  { hash: "#/accounts", label: "Accounts", page: accountsPage, role: "admin" },
  { hash: "#/account", label: null, page: ownAccountPage },
  { hash: "#/audit", label: "Audit log", page: auditPage, role: "admin" },
];

let leave = () => {};
let generation = 0;

// Calls `work` each second while the page is shown and its tab is visible.
function poller(current) {
  return (work, ms = POLL_MS) => {
    const turn = async () => {
      if (current !== generation) return;
      let wait = ms;
      if (!document.hidden) {
        try {
          await work();
          offline(false);
        } catch (error) {
          if (current !== generation) return;
          if (error.code === "SessionEnded") {
            location.hash = "#/login";
            return;
          }
          offline(true, error.message);
          wait = RETRY_MS;
        }
      }
      setTimeout(turn, wait);
    };
    return turn();
  };
}

function offline(is, text) {
  const banner = document.getElementById("offline");
  if (!banner) return;
  banner.hidden = !is;
  if (is) fill(banner, `The figures are not up to date: ${text}`);
}

function topBar(active) {
  const places = PLACES.filter((place) => place.label && (!place.role || may(place.role)));
  const links = places.map((place) =>
    h("li", {}, h("a", { href: place.hash,
      "aria-current": place.hash === active ? "page" : null }, place.label)));
  const theme = h("button", { type: "button", onclick: switchTheme }, "Theme");
  const end = session.csrf
    ? h("button", { type: "button", onclick: () => attempt(logOut).then(() => {
      location.hash = "#/login";
    }) }, "Log out")
    : null;
  fill(document.getElementById("top"), h("div", { class: "bar" },
    h("a", { class: "brand", href: "#/" }, h("img", { src: "icon.svg", alt: "" }), "DoveMQ"),
    session.account ? h("nav", { "aria-label": "Pages" }, h("ul", {}, links)) : null,
    h("div", { class: "who" }, session.account
      ? h("a", { href: "#/account" }, `${session.name ?? session.account} · ${session.role ?? "no role"}`) : null,
    theme, end)));
}

function switchTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("dovemq-theme", root.dataset.theme);
}

async function show() {
  generation += 1;
  leave();
  leave = () => {};
  const current = generation;
  const main = document.getElementById("main");
  const parts = (location.hash || "#/").slice(2).split("/").map(decoded);
  if (!session.account && parts[0] !== "login") {
    try {
      await resume();
    } catch (error) {
      if (current !== generation) return;
      if (error.status !== 403) {
        fill(main, h("p", { class: "empty" }, error.message));
        return;
      }
      location.hash = "#/login";
      return;
    }
  }
  const active = parts[0] === "" ? "#/" : `#/${parts[0]}`;
  topBar(active);
  const frame = h("div");
  const banner = h("p", { id: "offline", class: "problem", role: "alert", hidden: true });
  fill(main, banner, frame);
  const context = { frame, parts, every: poller(current), get, alive: () => current === generation };
  try {
    leave = (await pageOf(parts)(context)) ?? (() => {});
  } catch (error) {
    if (error.code === "SessionEnded") location.hash = "#/login";
    else fill(frame, h("h1", {}, "This cannot be shown"), h("p", {}, error.message));
  }
  document.title = `${frame.querySelector("h1")?.textContent ?? "Console"} – DoveMQ`;
}

function pageOf(parts) {
  if (parts[0] === "login") return loginPage;
  if (parts[0] === "queues" && parts.length >= 3) return queuePage;
  const place = PLACES.find((each) => each.hash === (parts[0] === "" ? "#/" : `#/${parts[0]}`));
  return place?.page ?? (({ frame }) => {
    fill(frame, h("h1", {}, "There is no such page"),
      h("p", {}, h("a", { href: "#/" }, "To the overview")));
  });
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

document.getElementById("skip").addEventListener("click", () =>
  document.getElementById("main").focus());
addEventListener("hashchange", show);
show();
