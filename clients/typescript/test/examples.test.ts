/** The examples that the suites of both clients run, in `clients/examples`. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, test } from "node:test";

import { CallError, Client, type JsonObject, type Methods, RunStream } from "../src/index.js";
import { LocalServer, REPOSITORY } from "./support.js";

interface Step {
  call: keyof Methods;
  params: JsonObject;
  result?: JsonObject;
  error?: Record<string, unknown>;
  events?: string[];
  save?: Record<string, string>;
}

const FOLDER = new URL("clients/examples/", REPOSITORY);
const EXAMPLES = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".json"))
  .sort();

let server: LocalServer;

before(async () => {
  server = await LocalServer.start();
});

after(() => server.stop());

const camel = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

const STREAMS: Partial<Record<keyof Methods, "streamCode" | "streamSkill">> = {
  run_code: "streamCode",
  execute_skill: "streamSkill",
};

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (value === null) return "null";
  if (Number.isInteger(value)) return "integer";
  return typeof value;
}

function assertContains(found: unknown, expected: unknown, place: string): void {
  if (Array.isArray(expected)) {
    assert.ok(Array.isArray(found) && found.length === expected.length, place);
    expected.forEach((item, index) => {
      assertContains(found[index], item, `${place}[${index}]`);
    });
  } else if (typeof expected === "object" && expected !== null) {
    const members = expected as Record<string, unknown>;
    if (typeof members["$match"] === "string") {
      assert.match(String(found), new RegExp(members["$match"]), place);
    } else if (typeof members["$type"] === "string") {
      assert.equal(typeOf(found), members["$type"], place);
    } else {
      assert.ok(typeof found === "object" && found !== null, place);
      for (const [name, value] of Object.entries(members)) {
        const member: unknown = (found as Record<string, unknown>)[name];
        const isAbsent = typeof value === "object" && value !== null && "$absent" in value;
        if (isAbsent) assert.equal(member, undefined, `${place}.${name}`);
        else assertContains(member, value, `${place}.${name}`);
      }
    }
  } else {
    assert.equal(found, expected, place);
  }
}

function filled<T>(value: T, saved: Record<string, string>): T {
  const text = JSON.stringify(value).replace(/\$\{(\w+)\}/g, (_, name: string) => saved[name] ?? "");
  return JSON.parse(text) as T;
}

async function perform(client: Client, step: Step, params: JsonObject): Promise<unknown> {
  if (step.events === undefined) {
    const methods = client as unknown as Record<string, (params: JsonObject) => Promise<unknown>>;
    const method = methods[camel(step.call)];
    assert.ok(method, step.call);
    return method.call(client, params);
  }
  const stream = STREAMS[step.call];
  assert.ok(stream, step.call);
  const run: RunStream = client[stream](params as never);
  const names = new Set<string>();
  for await (const event of run) names.add(event.type);
  assert.deepEqual([...names], step.events);
  return run.result;
}

for (const name of EXAMPLES) {
  test(`the example ${name}`, async () => {
    const { steps } = JSON.parse(readFileSync(new URL(name, FOLDER), "utf8")) as { steps: Step[] };
    const client = new Client({ url: server.url });
    const saved: Record<string, string> = { unique: randomUUID() };
    for (const step of steps) {
      const params = filled(step.params, saved);
      let result: unknown;
      try {
        result = await perform(client, step, params);
      } catch (error) {
        if (!(error instanceof CallError) || step.error === undefined) throw error;
        for (const [member, value] of Object.entries(step.error)) {
          assert.equal((error as unknown as Record<string, unknown>)[member], value, step.call);
        }
        continue;
      }
      assert.equal(step.error, undefined, `${step.call} should have been refused`);
      assertContains(result, filled(step.result ?? {}, saved), step.call);
      for (const [key, path] of Object.entries(step.save ?? {})) {
        const value = path.split(".").reduce((at, part) => (at as JsonObject)[part] as unknown, result);
        saved[key] = String(value);
      }
    }
  });
}
