/** The client has the types and methods of the OpenRPC document. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

import { Client } from "../src/index.js";
import { REPOSITORY } from "./support.js";

interface Document {
  methods: { name: string; params: { name: string }[] }[];
}

const DOCUMENT = JSON.parse(
  readFileSync(new URL("clients/openrpc.json", REPOSITORY), "utf8"),
) as Document;

test("the types are made from the document", () => {
  const script = fileURLToPath(new URL("clients/typescript/scripts/types.mjs", REPOSITORY));
  execFileSync(process.execPath, [script, "--check"]);
});

test("every method of the document is one of the client, and takes its parameters as they are", async () => {
  const sent: { method: string; params: Record<string, unknown> }[] = [];
  const client = new Client({
    fetch: (_, init) => {
      sent.push(JSON.parse(String(init?.body)) as (typeof sent)[number]);
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, result: {} });
      return Promise.resolve(new Response(body, { headers: { "content-type": "application/json" } }));
    },
  });
  const methods = client as unknown as Record<string, (params: object) => Promise<unknown>>;
  for (const { name, params } of DOCUMENT.methods) {
    const method = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    const given = Object.fromEntries(params.map((one) => [one.name, `${one.name}!`]));
    const called = methods[method];
    assert.ok(called, `there is no ${method}`);
    await called.call(client, given);
    const last = sent.at(-1);
    assert.equal(last?.method, name);
    assert.deepEqual(Object.keys(last?.params ?? {}).sort(), Object.keys(given).sort());
    assert.deepEqual(last?.params, given);
  }
  assert.equal(sent.length, 8);
});
