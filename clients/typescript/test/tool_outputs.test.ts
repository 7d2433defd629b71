/** What functions return, what a server refuses of it, and runs that end early in their caller. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { type CallerFunctions, Client } from "../src/index.js";
import { LocalServer, refusal, result, ScriptedServer } from "./support.js";

const ID = `ses_${"a".repeat(26)}`;

const TRIED = `
import asyncio
from tools import ToolError, good, odd

async def tried(call):
    try:
        return await call
    except ToolError as error:
        return "refused: " + error.message[:200]

async def main(args):
    return await asyncio.gather(tried(good()), tried(odd()))
`;

let server: LocalServer;
let client: Client;

before(async () => {
  server = await LocalServer.start();
  client = new Client(server.url);
});

after(() => server.stop());

/** Waits until no session is left. That of a stream is closed after its end. */
async function withoutSessions(): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    if ((await client.sessions()).sessions.length === 0) return;
    await new Promise((resume) => setTimeout(resume, 50));
  }
  assert.fail("a session is left");
}

function deep(): unknown {
  let value: unknown = 1;
  for (let level = 0; level < 80; level += 1) value = [value];
  return value;
}

class Point {
  constructor(
    readonly x: number,
    readonly move: () => void = () => {},
  ) {}
}

const REFUSED: Array<[() => unknown, RegExp]> = [
  [() => 2 ** 65, /the answer was refused: the number at `output` does not fit into 64 bits/],
  [deep, /the answer was refused: nested more than 64 levels deep/],
  [() => "x".repeat(17 * 2 ** 20), /the answer was refused: (a body may have at most 16 MiB|the connection broke)/],
  [() => "x".repeat(40 * 2 ** 20), /the output has 40 MiB/],
  [() => ["\ud800"], /`output\[0\]` has half of a character/],
  [() => ({ a: new Map([["b", 1]]) }), /`output\.a` is a Map, .*Object\.fromEntries/],
  [() => new Set([1]), /`output` is a Set, .*Array\.from/],
  [() => new Uint8Array([1]), /`output` is a Uint8Array: .*blobs\.upload/],
  [() => Buffer.from("a"), /`output` is a Buffer: .*blobs\.upload/],
  [() => new Float64Array([1]), /`output` is a Float64Array, .*Array\.from/],
  [() => new Blob(["a"]), /`output` is a Blob: .*blobs\.upload/],
  [() => () => 1, /`output` is a function/],
  [() => [Symbol("a")], /`output\[0\]` is a symbol/],
  [() => new Point(1), /`output\.move` is a function/],
  [() => ({ n: 1n }), /`output\.n` is a bigint/],
  [() => ({ n: Number.NaN }), /`output\.n` is NaN/],
  [() => Number.POSITIVE_INFINITY, /`output` is Infinity/],
  [
    () => {
      throw new Error(`half ${"x".repeat(20_000)}\ud800`);
    },
    /half x/,
  ],
  [
    () => {
      throw new Error("half \ud800");
    },
    /half \ufffd/,
  ],
  [
    () => {
      throw Object.create(null);
    },
    /an error without a text/,
  ],
];

for (const [at, [odd, said]] of REFUSED.entries()) {
  test(`an output that cannot be sent is an error of its tool (${at}: ${said.source})`, async () => {
    const tools = { good: () => [1], odd };
    const check = ([good, refused]: [number[], string]) => {
      assert.deepEqual(good, [1]);
      assert.match(refused, /^refused: /);
      assert.match(refused, said);
    };
    const ran = await client.runCode({ code: TRIED }, { tools });
    check((ran.output as any).result);
    const streamed = await client.streamCode({ code: TRIED }, { tools }).wait();
    check((streamed.output as any).result);
    await withoutSessions();
  });
}

test("outputs with JSON of their own are that", async () => {
  const blob = await client.blobs.upload("abc");
  const made = { day: new Date(0), none: undefined, blob, list: [undefined], __proto__: null };
  const code = "from tools import odd\nawait odd()";
  const { output } = await client.runCode({ code }, { tools: { odd: () => made } });
  assert.deepEqual(output, { day: "1970-01-01T00:00:00.000Z", blob: blob.blob_id, list: [null] });
});

test("arguments with functions and symbols are refused", async () => {
  for (const value of [() => 1, Symbol("a"), 1n]) {
    const call = client.runCode({ code: "1", args: { x: [value as never] } });
    await assert.rejects(call, /`args\.x\[0\]` is a (function|symbol|bigint)/);
  }
});

test("the address may be the only setting", async () => {
  assert.equal(new Client("http://127.0.0.1:9/rpc").url, "http://127.0.0.1:9");
  assert.throws(() => new Client("127.0.0.1:9"), /must be an address|http/);
});

const FOREVER: CallerFunctions = { tools: { f: () => new Promise(() => {}) } };

test("a run that is aborted while a function runs leaves no session", async () => {
  const code = "from tools import f\nawait f()";
  await assert.rejects(
    client.runCode({ code }, { ...FOREVER, signal: AbortSignal.timeout(1_500) }),
    { name: "TimeoutError" },
  );
  await withoutSessions();
});

test("a run that is aborted while it goes on leaves no session", async () => {
  const code = "from tools import f\nawait f()\nimport time\nwhile True: time.sleep(0.01)";
  const signal = AbortSignal.timeout(2_000);
  await assert.rejects(client.runCode({ code }, { tools: { f: () => 1 }, signal }));
  await withoutSessions();
});

test("a cell that is aborted leaves its session free", async () => {
  await using session = await client.session();
  await session.run("x = 1");
  const signal = AbortSignal.timeout(1_500);
  await assert.rejects(session.run("x = 2\nawait tools.f()", { ...FOREVER, signal }));
  assert.deepEqual((await session.run("x")).output, { result: 1 });
});

test("a refusal of answers ends the run", async () => {
  const waits = {
    status: "waiting",
    requests: [{ id: "c1-r1", kind: "tool", name: "f", arguments: {} }],
    session: { id: ID, cell: 1, checkpoint: null, state: "waiting" },
  };
  const answers = [
    result(waits),
    refusal(403, "forbidden"),
    refusal(409, "session_busy"),
    refusal(409, "session_conflict"),
    { status: 204, text: "" },
  ];
  const scripted = await ScriptedServer.start(answers);
  try {
    const call = new Client(scripted.url).runCode({ code: "x" }, { tools: { f: () => 1 } });
    await assert.rejects(call, { kind: "forbidden" });
    const [, , busy, conflict, closed] = scripted.seen;
    const params = { language: "python", code: "", session: ID, abandon: true };
    assert.deepEqual([busy?.body.params, conflict?.body.params], [params, params]);
    assert.deepEqual([closed?.method, closed?.url], ["DELETE", `/v1/sessions/${ID}`]);
  } finally {
    scripted.stop();
  }
});

test("only the answer that is refused becomes an error", async () => {
  const tool = (id: string, name: string) => ({ id, kind: "tool", name, arguments: {} });
  const waits = {
    status: "waiting",
    requests: [tool("c1-r1", "f"), tool("c1-r2", "g")],
    session: { id: ID, cell: 1, checkpoint: null, state: "waiting" },
  };
  const refused = refusal(400, "invalid_request");
  (refused.body as any).error.message = "the number at `params.answers[1].output[0]` does not fit";
  const scripted = await ScriptedServer.start([result(waits), refused, result({ status: "completed" })]);
  try {
    const tools = { f: () => 0, g: () => [1e300] };
    await new Client({ url: scripted.url }).runCode({ code: "x" }, { tools });
    assert.deepEqual(scripted.seen[2]?.body.params["answers"], [
      { id: "c1-r1", output: 0 },
      { id: "c1-r2", error: "the answer was refused: the number at `output[0]` does not fit" },
    ]);
  } finally {
    scripted.stop();
  }
});
