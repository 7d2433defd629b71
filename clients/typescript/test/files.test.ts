/** Files by name, arguments that JSON does not have, and pictures for models. */

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { generateText, stepCountIs } from "ai";
import { MockLanguageModelV3 } from "ai/test";

import { wardianTools } from "../src/ai.js";
import { BadAnswer, CallError, Client, FileNotKept, NoSuchFile } from "../src/index.js";
import { LocalServer, ScriptedServer } from "./support.js";

let server: LocalServer;
let client: Client;
let folder: string;

before(async () => {
  server = await LocalServer.start();
  client = new Client({ url: server.url });
  folder = mkdtempSync(join(tmpdir(), "wardian-files-"));
});

after(async () => {
  rmSync(folder, { recursive: true });
  await server.stop();
});

const LEAVES = `
import pathlib
pathlib.Path("out").mkdir()
pathlib.Path("out/report.csv").write_text("a\\n1\\n")
pathlib.Path("note.txt").write_text("note")
pathlib.Path("empty.txt").write_text("")
`;

test("files are there by name", async () => {
  const files = client.files(await client.runCode({ code: LEAVES }));
  assert.ok(files.has("report.csv") && files.has("out/report.csv") && !files.has("other"));
  assert.equal(await files.get("report.csv").text(), "a\n1\n");
  assert.deepEqual([...(await files.get("note.txt").bytes())], [110, 111, 116, 101]);
  assert.equal(await files.get("report.csv").save(folder), join(folder, "report.csv"));
  assert.equal(await files.get("note.txt").save(join(folder, "mine")), join(folder, "mine"));
  assert.equal(readFileSync(join(folder, "mine"), "utf8"), "note");
  const saved = await files.saveAll(join(folder, "new", "all"));
  assert.deepEqual(saved.sort(), [
    join(folder, "new", "all", "empty.txt"),
    join(folder, "new", "all", "note.txt"),
    join(folder, "new", "all", "out", "report.csv"),
  ]);
  assert.equal(readFileSync(saved[0]!, "utf8"), "");
  assert.throws(() => files.get("report.xlsx"), (error) => {
    return error instanceof NoSuchFile && /no file; the files are: .*note\.txt/.test(error.message);
  });
});

test("a file that was not kept says so", async () => {
  const kept = await client.runCode({ code: LEAVES, keep_files: ["*.txt"] });
  await assert.rejects(client.files(kept).get("report.csv").text(), FileNotKept);
  // It was not asked for, and so it is not lost.
  assert.equal((await client.files(kept).saveAll(join(folder, "some"))).length, 2);
  const lost = { files: [{ path: "a", size_bytes: 1, not_kept: "it is too large" }] };
  const message = /1 of 1 files .* a: it is too large/;
  await assert.rejects(client.files(lost).saveAll(join(folder, "none")), { message });
});

test("a path of a program leads nowhere else", async () => {
  for (const path of ["../a", "/a", "a/../../b", "a//b", "a\0", "..", ""]) {
    const files = client.files({ files: [{ path, size_bytes: 1, blob_id: "blob:a" }] });
    await assert.rejects(files.saveAll(join(folder, "safe")), /cannot be written under this name/);
  }
  mkdirSync(join(folder, "linked"));
  symlinkSync(folder, join(folder, "linked", "out"));
  const files = client.files({ files: [{ path: "out/x", size_bytes: 1, blob_id: "blob:a" }] });
  await assert.rejects(files.saveAll(join(folder, "linked")), /leads out of the folder/);
  assert.ok(!existsSync(join(folder, "x")));
});

const READS = `
from runtime import blobs

def main(args):
    return {
        "bytes": list(blobs.read_bytes(args["bytes"])),
        "file": open("sales.csv").read(),
        "blob": blobs.read_text(args["more"][0]["blob"]),
        "left": blobs.read_text(args["more"][1]),
        "date": args["date"],
        "same": args["file"] == args["again"],
        "proto": args["deep"]["__proto__"],
    }
`;

test("what JSON does not have is stored and mounted", async () => {
  const left = client.files(await client.runCode({ code: LEAVES })).get("note.txt");
  const file = new File(["a\n1\n"], "sales.csv", { type: "text/csv" });
  const args = {
    bytes: new Uint8Array([0, 255]),
    file,
    again: file,
    more: [{ blob: await client.blobs.upload("blob", { name: "b.txt" }) }, left],
    date: new Date(0) as unknown as string,
    deep: JSON.parse('{"__proto__": 7}') as { __proto__: number },
  };
  const expected = {
    bytes: [0, 255],
    file: "a\n1\n",
    blob: "blob",
    left: "note",
    date: "1970-01-01T00:00:00.000Z",
    same: true,
    proto: 7,
  };
  const result = await client.runCode({ code: READS, args });
  assert.deepEqual(result.output, expected, result.error?.message);
  assert.ok(args.bytes instanceof Uint8Array);
  assert.deepEqual((await client.streamCode({ code: READS, args }).wait()).output, expected);
  const run = await client.startCode({ code: READS, args });
  assert.deepEqual((await run.wait(300_000)).output, expected);
  const profile = await client.skills["data.csv.profile"]!({ csv_blob: file });
  assert.match(profile.summary, /^1 row/);
});

test("what cannot be sent says what to give", async () => {
  const values: Array<[unknown, RegExp]> = [
    [new Map(), /`args\.x\[0\]` is a Map.*fromEntries/],
    [new Set(), /is a Set.*Array\.from/],
    [new Float64Array(1), /is a Float64Array.*Array\.from/],
    [new ReadableStream(), /is a ReadableStream.*blobs\.upload/],
    [Promise.resolve(1), /is a Promise/],
  ];
  for (const [value, message] of values) {
    const params = { code: "1", args: { x: [value as number] } };
    await assert.rejects(client.runCode(params), { name: "TypeError", message });
    assert.throws(() => client.streamCode(params), { name: "TypeError", message });
  }
});

test("a server that is none is a bad answer", async () => {
  for (const status of [301, 400, 404, 405, 501]) {
    const scripted = await ScriptedServer.start([{ status, body: "nginx" }]);
    const other = new Client({ url: scripted.url });
    await assert.rejects(other.version(), BadAnswer);
    await assert.rejects(other.runCode({ code: "1" }), BadAnswer);
    assert.equal(scripted.seen.length, 2);
    scripted.stop();
  }
  const gateway = await ScriptedServer.start([{ status: 502, body: "nginx" }]);
  await assert.rejects(new Client({ url: gateway.url }).version(), CallError);
  gateway.stop();
});

test("a model sees the pictures of a run", async () => {
  const code = 'from PIL import Image\nImage.new("RGB", (8, 8), "red").save("red.png")';
  for (const pictures of [true, false]) {
    const tools = await wardianTools(client, { only: ["run_code"], pictures });
    const usage = {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    };
    let prompted = "";
    const model = new MockLanguageModelV3({
      doGenerate: async ({ prompt }) => {
        const last = prompt.at(-1);
        if (last?.role !== "tool") {
          const input = JSON.stringify({ language: "python", code });
          return {
            content: [{ type: "tool-call", toolCallId: "1", toolName: "run_code", input }],
            finishReason: { unified: "tool-calls", raw: undefined },
            usage,
            warnings: [],
          };
        }
        prompted = JSON.stringify(last.content);
        return {
          content: [{ type: "text", text: "It is red." }],
          finishReason: { unified: "stop", raw: undefined },
          usage,
          warnings: [],
        };
      },
    });
    const { text } = await generateText({ model, tools, prompt: "Draw.", stopWhen: stepCountIs(3) });
    assert.equal(text, "It is red.");
    assert.match(prompted, /red\.png/);
    assert.equal(/"data":"iVBORw0KGgo/.test(prompted), pictures, prompted.slice(0, 2_000));
    assert.equal(prompted.includes('"mediaType":"image/png"'), pictures);
  }
});
