// The frame of the console: who calls, which page shows, and what stays between pages.

import { identify, key, may, session } from "./api.js";
import { add, button, empty, fill, h, problem } from "./dom.js";
import { blobsPage } from "./blobs.js";
import { overviewPage } from "./overview.js";
import { playgroundPage } from "./playground.js";
import { forgetAddresses } from "./preview.js";
import { runsPage } from "./runs.js";
import { sessionsPage } from "./sessions.js";
import { skillsPage } from "./skills.js";
import { tenantsPage } from "./tenants.js";

/** Pages by the first part of the address behind `#/`, with the scopes of which one is needed. */
const PAGES = [
  ["overview", "Overview", overviewPage, null],
  ["skills", "Skills", skillsPage, ["discover"]],
  ["playground", "Playground", playgroundPage, ["code"]],
  ["sessions", "Sessions", sessionsPage, ["code"]],
  ["runs", "Runs", runsPage, ["execute", "code"]],
  ["blobs", "Blobs", blobsPage, ["blobs"]],
  ["tenants", "Tenants", tenantsPage, ["admin"]],
];

const main = document.getElementById("main");
let leaving = new AbortController();

/** The parts of the address: the page, what it is about, and parameters. */
function place() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/").map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return "";
    }
  });
  return { page: parts[0] || "overview", parts: parts.slice(1), query: new URLSearchParams(query) };
}

const allows = (scopes) => scopes === null || scopes.some(may);

function drawNavigation(current) {
  const links = PAGES.filter(([, , , scopes]) => allows(scopes)).map(([name, title]) =>
    h("a", { href: `#/${name}`, "aria-current": name === current ? "page" : null }, title));
  fill(document.getElementById("nav"), session.caller ? links : []);
  const place = document.getElementById("session");
  if (!session.caller) fill(place);
  else if (session.caller.credential === null) fill(place, h("span", { class: "quiet" }, session.caller.tenant));
  else {
    fill(place, h("span", { class: "quiet cut", title: `tenant ${session.caller.tenant}, ${session.caller.credential}` }, session.caller.tenant),
      button("Sign out", () => { key.forget(); session.caller = null; start(); }));
  }
}

async function show() {
  leaving.abort();
  leaving = new AbortController();
  forgetAddresses();
  if (!session.caller) return;
  const { page, parts, query } = place();
  drawNavigation(page);
  const found = PAGES.find(([name]) => name === page);
  fill(main);
  if (!found || !allows(found[3])) {
    document.title = "Wardian";
    add(main, h("h1", {}, found ? found[1] : "Nothing here"), found
      ? empty("This key does not open this page", `It needs the scope ${found[3].join(" or ")}.`)
      : empty("There is no such page", "Choose one above."));
    main.dataset.shown = location.hash;
    return;
  }
  document.title = `${parts[0] ? `${parts[0]} – ` : ""}${found[1]} – Wardian`;
  const { signal } = leaving;
  try {
    await found[2](main, { parts, query, signal });
  } catch (error) {
    if (error.name !== "AbortError" && !signal.aborted) {
      if (!main.querySelector("h1")) add(main, h("h1", {}, found[1]));
      add(main, problem(error));
    }
  }
  if (!signal.aborted) main.dataset.shown = location.hash;
}

/** Asks for a key, once for each tab. */
function askForKey(refused) {
  drawNavigation(null);
  document.title = "Sign in – Wardian";
  const input = h("input", { type: "password", id: "key", autocomplete: "off", spellcheck: "false", required: true, "aria-describedby": "key-hint" });
  const place = h("div", {});
  const form = h("form", {
    class: "sign-in", on: {
      submit: (event) => {
        event.preventDefault();
        key.set(input.value.trim());
        start(true).catch((error) => fill(place, problem(error)));
      },
    },
  },
  h("h1", {}, "Sign in"),
  h("label", { for: "key" }, "Key or token"), input,
  h("p", { class: "hint", id: "key-hint" }, "Sent with each request, and kept in this tab until it is closed. An operator makes keys with ",
    h("code", {}, "wardian keys create"), "."),
  h("button", { type: "submit", class: "primary" }, "Sign in"), place);
  fill(main, form);
  if (refused) add(place, problem(new Error("the server does not know this key")));
  input.focus();
}

async function start(tried = false) {
  leaving.abort();
  let known;
  try {
    known = await identify();
  } catch (error) {
    fill(main, h("h1", {}, "Wardian"), problem(error), h("p", {}, button("Try again", () => start())));
    return;
  }
  if (!known) {
    key.forget();
    askForKey(tried);
    return;
  }
  await show();
}

window.addEventListener("hashchange", () => {
  show().then(() => main.focus({ preventScroll: true }));
  window.scrollTo(0, 0);
});
window.addEventListener("unauthorized", () => {
  // A key that was revoked while the page was open. The page before the first answer asks by itself.
  if (session.caller) { session.caller = null; key.forget(); askForKey(true); }
});
// The link would change the address, by which the page is chosen.
document.getElementById("skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
// A file that is dropped beside a field must not replace the page.
for (const name of ["dragover", "drop"]) window.addEventListener(name, (event) => event.preventDefault());

start();
