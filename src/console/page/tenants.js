// Tenants and their keys, for operators. Keys are made and revoked with the command line alone.

import { getJson, request } from "./api.js";
import { add, empty, h, table } from "./dom.js";
import { ago, micros, moment, number } from "./format.js";
import { readMetrics } from "./overview.js";

export async function tenantsPage(main, { signal }) {
  add(main, h("h1", {}, "Tenants and keys"));
  const [{ accepted, keys }, metrics] = await Promise.all([
    getJson("/v1/keys", { signal }), request("/v1/metrics", { signal }).then((answer) => answer.text()),
  ]);
  add(main, h("section", { class: "card" }, h("h2", {}, "Tenants"), tenantTable(keys, readMetrics(metrics))));
  const now = Date.now();
  add(main, h("section", { class: "card" }, h("h2", {}, "Keys"), !accepted
    ? empty("This server asks for no keys", "Every caller is the tenant local. With ", h("code", {}, "auth.mode = \"keys\""), " callers need one.")
    : !keys.length ? empty("There are no keys", "Make one with ", h("code", {}, "wardian keys create --tenant NAME --name NAME"), ".")
      : table("Keys", ["Key", "Tenant", "Name", "Scopes", "State", "Last use", "Made"], keys.map((key) => [
        h("code", {}, key.prefix), key.tenant, key.name, key.scopes.join(", "), state(key, now),
        key.last_used_ms ? h("span", { title: moment(key.last_used_ms) }, ago(key.last_used_ms)) : "never",
        h("span", { title: moment(key.created_ms) }, ago(key.created_ms)),
      ]), { wide: true }),
  accepted ? h("p", { class: "quiet" }, "Make keys with ", h("code", {}, "wardian keys create"), " and revoke them with ",
    h("code", {}, "wardian keys revoke PREFIX"), " on the machine of the server.") : null));
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
