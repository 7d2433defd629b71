/** The client against a real server. */

import assert from "node:assert/strict";
import { openAsBlob, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { generateText, stepCountIs } from "ai";
import { MockLanguageModelV3 } from "ai/test";

import { wardianTools } from "../src/ai.js";
import {
  CallError,
  Client,
  completed,
  isRefusal,
  RunFailed,
  RunNotEnded,
  type RunEvent,
} from "../src/index.js";
import { LocalServer } from "./support.js";

let server: LocalServer;
let client: Client;

before(async () => {
  server = await LocalServer.start();
  client = new Client({ url: `${server.url}/` });
});

after(() => server.stop());

const TABLE = "city,people\nBern,134\nBasel,178\n";

test("a skill is called like a function", async () => {
  const result = await client.skills["hello.world"]!({ name: "Ada" }, { timeout_ms: 60_000 });
  assert.deepEqual(result.output, { summary: "Hello, Ada!", greeting: "Hello, Ada!" });
  const { blob_id } = await client.blobs.upload(TABLE, { kind: "text/csv" });
  const profile = await client.skills["data.csv.profile"]!({ csv_blob: blob_id });
  assert.match(profile.summary, /^2 rows, 2 columns/);
  await assert.rejects(client.skills["data.csv.profile"]!({}), (error) => {
    return isRefusal(error, "invalid_params") && error.parameter === "args";
  });
});

test("a failed run is a result, and an error only if asked", async () => {
  const result = await client.runCode({ code: "1 / 0" });
  assert.equal(result.status, "failed");
  assert.equal(result.error?.type, "ZeroDivisionError");
  assert.throws(() => completed(result), RunFailed);
});

test("all skills come page by page", async () => {
  const names: string[] = [];
  for await (const skill of client.iterSkills({ limit: 3 })) names.push(skill.name);
  assert.deepEqual(names, [...names].sort());
  assert.ok(names.includes("hello.world") && names.length > 3);
});

test("output and progress come while a program runs", async () => {
  const code =
    "from runtime import progress\nprint('a\\x85b\\u2028c')\n" +
    "progress(1, 2, 'half')\nprint('end')\n7";
  const run = client.streamCode({ code });
  assert.throws(() => run.result, /has not ended/);
  const events: RunEvent[] = [];
  for await (const event of run) events.push(event);
  assert.deepEqual(run.result.output, { result: 7 });
  const printed = events.map((event) => (event.type === "output" ? event.text : "")).join("");
  assert.equal(printed, "a\u0085b\u2028c\nend\n");
  const progress = events.find((event) => event.type === "progress");
  assert.deepEqual(progress, { type: "progress", done: 1, total: 2, message: "half" });
});

async function nothingRuns(): Promise<void> {
  for (let tries = 0; tries < 1_200; tries += 1) {
    if ((await client.runs.active()).length === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail("the run goes on");
}

test("leaving a stream stops the run", async () => {
  // The output comes before the end, which would be in minutes.
  const code = "import time\nprint('go', flush=True)\ntime.sleep(250)";
  const run = client.streamCode({ code, timeout_ms: 300_000 });
  for await (const event of run) {
    assert.deepEqual(event, { type: "output", stream: "stdout", text: "go\n" });
    break;
  }
  await nothingRuns();
});

test("a signal stops the run", async () => {
  const controller = new AbortController();
  const code = "import time\ntime.sleep(250)";
  const running = client.runCode({ code, timeout_ms: 300_000 }, { signal: controller.signal });
  setTimeout(() => controller.abort(), 300);
  await assert.rejects(running, { name: "AbortError" });
  await nothingRuns();
});

test("a repeated call streams nothing and has the first result", async () => {
  const params = { code: "print('once')\n1", idempotency_key: crypto.randomUUID() };
  const first = await client.runCode(params);
  assert.deepEqual(await client.streamCode(params).wait(), first);
});

test("a run in the background", async () => {
  const run = await client.startCode({ code: "print('hi')\n{'rows': 12}" });
  const result = await client.runs.of(run.runId).wait(300_000);
  assert.deepEqual(result.output, { rows: 12 });
  assert.equal(await run.log(), "hi\n");
  const record = await run.record();
  assert.deepEqual([record.status, record["outcome"]], ["ended", "completed"]);
  const { runs } = await client.runs.list({ limit: 1 });
  assert.equal(runs[0]?.["run_id"], run.runId);
});

test("a run in the background is cancelled", async () => {
  const run = await client.startSkill({ name: "hello.world" });
  await run.wait(300_000);
  const code = "import time\ntime.sleep(250)";
  const long = await client.startCode({ code, timeout_ms: 300_000 });
  await assert.rejects(long.wait(200), RunNotEnded);
  assert.equal((await long.cancel())["run_id"], long.runId);
  assert.equal((await long.wait(300_000)).error?.type, "Cancelled");
  await assert.rejects(client.runs.get(`run_${"0".repeat(32)}`), (error) => {
    return isRefusal(error, "run_not_found") && error.httpStatus === 404;
  });
});

test("blobs from and to memory and files", async () => {
  const bytes = Uint8Array.from({ length: 1_000_000 }, (_, index) => index % 251);
  const blob = await client.blobs.upload(bytes);
  assert.equal(blob.size_bytes, bytes.length);
  assert.deepEqual(await client.blobs.read(blob.blob_id), bytes);
  const described = await client.blobs.describe(blob.blob_id);
  assert.deepEqual([described.size_bytes, described.kind], [bytes.length, "application/octet-stream"]);
  assert.ok(await client.blobs.verify(blob.blob_id));
  const folder = mkdtempSync(join(tmpdir(), "wardian-"));
  writeFileSync(join(folder, "table.csv"), TABLE);
  const file = await openAsBlob(join(folder, "table.csv"));
  const table = await client.blobs.upload(file, { filename: "table.csv" });
  rmSync(folder, { recursive: true });
  assert.equal((await client.blobs.describe(table.blob_id)).kind, "text/csv");
  assert.equal(await client.blobs.readText(table.blob_id), TABLE);
  const { blobs } = await client.blobs.list({ limit: 1_000 });
  assert.ok(blobs.some((one) => one.blob_id === table.blob_id));
  await client.blobs.delete(table.blob_id);
  await assert.rejects(client.blobs.read(table.blob_id), (error) => isRefusal(error, "blob_not_found"));
});

test("a blob that is not there is not described", async () => {
  const missing = `blob:${"a".repeat(52)}`;
  await assert.rejects(client.blobs.describe(missing), (error) => {
    return isRefusal(error, "blob_not_found") && error.httpStatus === 404 && !!error.requestId;
  });
});

test("a blob from a stream", async () => {
  const text = TABLE.repeat(10_000);
  const blob = await client.blobs.upload(new Blob([text]).stream(), { kind: "text/csv" });
  assert.equal(blob.size_bytes, text.length);
  assert.equal(await client.blobs.readText(blob), text);
  assert.equal((await client.blobs.describe(blob)).kind, "text/csv");
});

test("the result of an upload stands for its id", async () => {
  const blob = await client.blobs.upload(TABLE, { kind: "text/csv" });
  const profile = await client.skills["data.csv.profile"]!({ csv_blob: blob });
  assert.match(profile.summary, /^2 rows, 2 columns/);
  const other = await client.createBlob({ content: "text", kind: "text/plain" });
  const args = { all: [other] };
  const result = await client.runCode({ code: "args", args, input_blobs: [blob, other] });
  assert.deepEqual(result.output, { all: [other.blob_id] });
});

test("a blob is a file at its path", async () => {
  const blob = await client.blobs.upload(TABLE, { kind: "text/csv" });
  const other = await client.blobs.upload("other");
  const code = "def main(args):\n    return open('data/in.csv').read() + open(args['other']).read()";
  const placed = { blob, path: "data/in.csv" };
  const result = await client.runCode({ code, args: { other }, input_blobs: [placed] });
  assert.deepEqual(result.output, { result: `${TABLE}other` });
});

test("the server describes itself", async () => {
  assert.equal((await client.version())["name"], "wardian");
  const document = await client.openrpc();
  assert.equal((document["methods"] as unknown[]).length, 8);
  assert.equal((await client.tools("anthropic")).length, 8);
});

test("the tools for the AI SDK", async () => {
  const tools = await wardianTools(client, { only: ["run_code", "list_skills"] });
  assert.deepEqual(Object.keys(tools).sort(), ["list_skills", "run_code"]);
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  let turn = 0;
  const model = new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => {
      turn += 1;
      if (turn === 1) {
        const call = (toolCallId: string, toolName: string, input: object) => ({
          type: "tool-call" as const,
          toolCallId,
          toolName,
          input: JSON.stringify(input),
        });
        const code = { language: "python", code: "args['a'] * 7", args: { a: 6 } };
        return {
          content: [call("1", "run_code", code), call("2", "list_skills", { limit: 0 })],
          finishReason: { unified: "tool-calls", raw: undefined },
          usage,
          warnings: [],
        };
      }
      const said = JSON.stringify(prompt.at(-1));
      assert.match(said, /"result":42/);
      assert.match(said, /invalid_params/);
      return {
        content: [{ type: "text", text: "It is 42." }],
        finishReason: { unified: "stop", raw: undefined },
        usage,
        warnings: [],
      };
    },
  });
  const { text } = await generateText({ model, tools, prompt: "6 times 7?", stopWhen: stepCountIs(3) });
  assert.equal(text, "It is 42.");
  assert.equal(turn, 2);
});

test("a tool that does not exist is refused with the names of those that do", async () => {
  const message = /unknown tool `run_cod`; .*\brun_code\b/;
  await assert.rejects(wardianTools(client, { only: ["list_skills", "run_cod"] }), { message });
});

test("a call that does not exist is refused", async () => {
  await assert.rejects(client.call("no_such"), (error) => {
    return error instanceof CallError && error.kind === "method_not_found" && error.code === -32601;
  });
});
