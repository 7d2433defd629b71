// Tenants and their keys, for operators: they make keys, which show once, and revoke them.

import { getJson, request, session } from "./api.js";
import { add, button, copy, empty, field, fill, h, note, problem, table } from "./dom.js";
import { ago, micros, moment, number } from "./format.js";
import { readMetrics } from "./overview.js";

/** Scopes with what a key has unless another choice is made. */
const SCOPES = [["discover", true], ["execute", true], ["code", true], ["blobs", true], ["approve", true], ["admin", false]];
const DAY = 86_400_000;
const ENDS = [["30 days", 30 * DAY], ["90 days", 90 * DAY], ["a year", 365 * DAY], ["no end", 0]];

export async function tenantsPage(main, { signal }) {
  add(main, h("h1", {}, "Tenants and keys"));
  const metrics = readMetrics(await (await request("/v1/metrics", { signal })).text());
  const tenants = h("section", { class: "card" });
  const listed = h("div", {});
  const answers = h("div", { role: "status" });
  const draw = async () => {
    const { accepted, keys } = await getJson("/v1/keys", { signal });
    fill(tenants, h("h2", {}, "Tenants"), tenantTable(keys, metrics));
    fill(listed, !accepted ? empty("This server takes no keys", "Every caller is the tenant local. With ", h("code", {}, "auth.mode = \"keys\""), " callers need one.")
      : keys.length ? keyTable(keys, revoke) : empty("There are no keys", "Make one below."));
    return accepted;
  };
  const revoke = (key) => {
    const isOwn = session.caller.credential === key.prefix;
    const sure = h("div", { class: "problem", role: "alertdialog", "aria-label": "Revoke the key" },
      `Revoke the key ${key.prefix} of ${key.tenant}? Its callers are refused at once.${isOwn ? " It is the key of this page." : ""} `,
      button("Revoke", async () => {
        try {
          await request(`/v1/keys/${encodeURIComponent(key.prefix)}/revoke`, { method: "POST" });
          note(`The key ${key.prefix} is revoked`);
          fill(answers);
          await draw();
        } catch (error) {
          fill(answers, problem(error));
        }
      }, { class: "danger" }), " ", button("Keep", () => fill(answers)));
    fill(answers, sure);
    sure.querySelector("button:last-child").focus();
  };
  const accepted = await draw();
  add(main, tenants, h("section", { class: "card" }, h("h2", {}, "Keys"), answers, listed, accepted ? keyForm(draw) : null));
}

/** The form that makes a key, and the key, this once. */
function keyForm(draw) {
  const tenant = h("input", { type: "text", required: true, maxlength: 64, autocomplete: "off", spellcheck: "false", placeholder: "acme" });
  const name = h("input", { type: "text", required: true, maxlength: 64, autocomplete: "off", placeholder: "ci" });
  const end = h("select", {}, ENDS.map(([text, time]) => h("option", { value: time, selected: time === 90 * DAY }, text)));
  const boxes = SCOPES.map(([scope, isUsual]) => [scope, h("input", { type: "checkbox", checked: isUsual })]);
  const answer = h("div", { role: "status" });
  const submit = h("button", { type: "submit", class: "primary" }, "Create key");
  const create = async () => {
    submit.disabled = true;
    try {
      const order = { tenant: tenant.value.trim(), name: name.value.trim(), scopes: boxes.filter(([, box]) => box.checked).map(([scope]) => scope) };
      if (Number(end.value)) order.expires_ms = Number(end.value);
      const made = await (await request("/v1/keys", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(order) })).json();
      const secret = h("code", { class: "secret" }, made.key);
      fill(answer, h("div", { class: "boxed stack" }, h("p", {}, h("strong", {}, `The key of ${made.tenant}. `), "It is shown only once: only its hash is stored."), secret,
        h("div", { class: "actions" }, button("Copy the key", () => copy(made.key, "The key")), button("Done", () => fill(answer)))));
      name.value = "";
      await draw();
    } catch (error) {
      fill(answer, problem(error));
    } finally {
      submit.disabled = false;
    }
  };
  return h("form", { class: "stack", "aria-label": "New key", on: { submit: (event) => { event.preventDefault(); create(); } } }, h("h3", {}, "New key"),
    h("div", { class: "inline" }, field("Tenant", tenant), field("Name", name), field("Expires after", end)),
    h("fieldset", { class: "plain-fieldset" }, h("legend", { class: "label" }, "Scopes"), h("div", { class: "scopes" }, boxes.map(([scope, box]) => h("label", {}, box, scope)))),
    h("div", { class: "actions" }, submit), answer);
}

function keyTable(keys, revoke) {
  const now = Date.now();
  return table("Keys", ["Key", "Tenant", "Name", "Scopes", "State", "Last use", "Made", ""], keys.map((key) => [
    h("code", {}, key.prefix), key.tenant, key.name, key.scopes.join(", "), state(key, now),
    key.last_used_ms ? h("span", { title: moment(key.last_used_ms) }, ago(key.last_used_ms)) : "never",
    h("span", { title: moment(key.created_ms) }, ago(key.created_ms)),
    key.revoked_ms ? "" : button("Revoke", () => revoke(key), { "aria-label": `Revoke ${key.prefix}` }),
  ]), { wide: true });
}

function state(key, now) {
  if (key.revoked_ms) return h("span", { class: "badge badge-bad", title: moment(key.revoked_ms) }, "revoked");
  if (key.expires_ms && key.expires_ms <= now) return h("span", { class: "badge badge-dim", title: moment(key.expires_ms) }, "expired");
  return h("span", { class: "badge badge-good", title: key.expires_ms ? `until ${moment(key.expires_ms)}` : "does not end" }, "valid");
}

function tenantTable(keys, values) {
  const found = new Map();
  const of = (tenant) => {
    if (!found.has(tenant)) found.set(tenant, { keys: 0, completed: 0, failed: 0, cpu: 0 });
    return found.get(tenant);
  };
  for (const key of keys) if (!key.revoked_ms) of(key.tenant).keys += 1;
  for (const [{ tenant, outcome }, count] of values.get("wardian_runs_total") ?? []) of(tenant)[outcome === "completed" ? "completed" : "failed"] += count;
  for (const [{ tenant }, time] of values.get("wardian_run_cpu_seconds_total") ?? []) of(tenant).cpu += time;
  if (!found.size) return empty("No tenant has called yet");
  return table("Tenants", ["Tenant", "Keys", "Completed", "Failed", "Processor"], [...found].sort(([one], [other]) => one < other ? -1 : 1)
    .map(([tenant, sums]) => [tenant, number(sums.keys, 0), number(sums.completed, 0), number(sums.failed, 0), micros(sums.cpu * 1e6)]), { right: [1, 2, 3, 4] });
}
